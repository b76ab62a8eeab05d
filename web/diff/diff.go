// Package diff compares two texts word by word. It is plain computation: it keeps nothing
// and has nothing to lose in a crash.
package diff

import (
	"slices"
	"strings"
	"unicode"
)

// Change says in which of the texts a piece stands.
type Change string

// The changes.
const (
	Same    Change = "same"    // in both
	Removed Change = "removed" // in the old one alone
	Added   Change = "added"   // in the new one alone
)

// Piece is a run of words with the same change.
type Piece struct {
	Change Change `json:"change"`
	Text   string `json:"text"`
}

// maxEdits bounds the work: texts with more differences are given as removed and added
// whole.
const maxEdits = 1000

// Words returns how an old text becomes a new one: the pieces that are the same and
// removed make the old text, those that are the same and added the new one. Lines are
// compared first, and within those that changed their words.
func Words(before, after string) []Piece {
	var b builder
	for _, hunk := range compare(strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")) {
		if hunk.same != nil {
			b.add(Same, hunk.same)
			continue
		}
		for _, part := range compare(split(strings.Join(hunk.removed, "")), split(strings.Join(hunk.added, ""))) {
			b.add(Same, part.same)
			b.add(Removed, part.removed)
			b.add(Added, part.added)
		}
	}
	return b.pieces
}

// builder joins pieces with the same change.
type builder struct{ pieces []Piece }

func (b *builder) add(c Change, units []string) {
	text := strings.Join(units, "")
	switch n := len(b.pieces); {
	case text == "":
	case n > 0 && b.pieces[n-1].Change == c:
		b.pieces[n-1].Text += text
	default:
		b.pieces = append(b.pieces, Piece{c, text})
	}
}

// split cuts a text into words and the spaces between them.
func split(text string) (units []string) {
	start, wasSpace := 0, false
	for i, r := range text {
		isSpace := unicode.IsSpace(r)
		if i > start && (isSpace != wasSpace || r > 0x2e80) { // scripts without spaces: each character
			units = append(units, text[start:i])
			start = i
		}
		wasSpace = isSpace
	}
	if start < len(text) {
		units = append(units, text[start:])
	}
	return units
}

// hunk is a run of units that are the same, or one that was replaced.
type hunk struct{ same, removed, added []string }

// compare returns how old units become new ones, by Myers' greedy algorithm (1986).
func compare(before, after []string) (hunks []hunk) {
	prefix := 0
	for prefix < min(len(before), len(after)) && before[prefix] == after[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < min(len(before), len(after))-prefix && before[len(before)-1-suffix] == after[len(after)-1-suffix] {
		suffix++
	}
	tail := before[len(before)-suffix:]
	if prefix > 0 {
		hunks = append(hunks, hunk{same: before[:prefix]})
	}
	hunks = append(hunks, myers(before[prefix:len(before)-suffix], after[prefix:len(after)-suffix])...)
	if suffix > 0 {
		hunks = append(hunks, hunk{same: tail})
	}
	return hunks
}

// myers finds the shortest way from the old units to the new ones.
func myers(before, after []string) []hunk {
	if len(before) == 0 && len(after) == 0 {
		return nil
	}
	var trace [][]int // the farthest old unit on each diagonal, after each edit
	for edits := 0; edits <= min(maxEdits, len(before)+len(after)); edits++ {
		reach := make([]int, 2*edits+1)
		for k := -edits; k <= edits; k += 2 {
			x := 0
			if edits > 0 {
				x = step(trace[edits-1], edits-1, k)
			}
			for x < len(before) && x-k < len(after) && before[x] == after[x-k] {
				x++
			}
			reach[k+edits] = x
			if x >= len(before) && x-k >= len(after) {
				return walkBack(append(trace, reach), before, after)
			}
		}
		trace = append(trace, reach)
	}
	return []hunk{{removed: before, added: after}}
}

// step returns where diagonal k begins after one edit more than last, whose number of
// edits is n.
func step(last []int, n, k int) int {
	down, right := -1, -1 // an added unit, a removed one
	if k+1 <= n && k+1 >= -n {
		down = last[k+1+n]
	}
	if k-1 <= n && k-1 >= -n {
		right = last[k-1+n] + 1
	}
	return max(down, right)
}

// walkBack reads the hunks from the end of the way to its beginning.
func walkBack(trace [][]int, before, after []string) (hunks []hunk) {
	x, y := len(before), len(after)
	for edits := len(trace) - 1; edits >= 0; edits-- {
		k, fromX, fromY := x-y, 0, 0
		if edits > 0 {
			last := trace[edits-1]
			start := step(last, edits-1, k)
			if k+1 <= edits-1 && k+1 >= 1-edits && last[k+1+edits-1] == start {
				fromX, fromY = start, start-k-1
			} else {
				fromX, fromY = start-1, start-k
			}
			if x > start {
				hunks = append(hunks, hunk{same: before[start:x]})
			}
			hunks = append(hunks, hunk{removed: before[fromX:start], added: after[fromY : start-k]})
		} else if x > 0 {
			hunks = append(hunks, hunk{same: before[:x]})
		}
		x, y = fromX, fromY
	}
	slices.Reverse(hunks)
	return joinChanges(hunks)
}

// joinChanges makes one hunk of successive changes.
func joinChanges(hunks []hunk) (joined []hunk) {
	for _, h := range hunks {
		if n := len(joined); n > 0 && h.same == nil && joined[n-1].same == nil {
			joined[n-1].removed = slices.Concat(joined[n-1].removed, h.removed)
			joined[n-1].added = slices.Concat(joined[n-1].added, h.added)
			continue
		}
		joined = append(joined, h)
	}
	return joined
}
