package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"minutebook/api"
	"minutebook/internal/rawjson"
)

// Difference is one place in which two JSON values differ. Old is nil for an
// added value, New for a removed one.
type Difference struct {
	Path string          `json:"path"` // such as transcript[12].text
	Old  json.RawMessage `json:"old"`
	New  json.RawMessage `json:"new"`
}

// DiffParts lists how one state of a meeting differs from another, part by part
// in the order of api.Parts.
func DiffParts(old, new map[api.Part]json.RawMessage) []Difference {
	var diffs []Difference
	for _, p := range api.Parts() {
		diffs = append(diffs, Diff(string(p), old[p], new[p])...)
	}
	return diffs
}

// Diff lists how new differs from old, both at path. Objects are compared key by
// key; of arrays, equal elements are aligned first, so that one utterance more at
// the top is one difference and not a thousand. Spellings of the same value do not
// differ, nor does null from an absent value.
func Diff(path string, old, new json.RawMessage) []Difference {
	old, new = bytes.TrimSpace(old), bytes.TrimSpace(new)
	switch {
	case isAbsent(old) && isAbsent(new):
		return nil
	case len(old) == 0 || len(new) == 0:
		return []Difference{{path, nilIfEmpty(old), nilIfEmpty(new)}}
	case rawjson.Equal(old, new):
		return nil
	case old[0] == '{' && new[0] == '{':
		return diffObjects(path, rawjson.Map(old), rawjson.Map(new))
	case old[0] == '[' && new[0] == '[':
		return diffArrays(path, elements(old), elements(new))
	}
	return []Difference{{path, old, new}}
}

func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func nilIfEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

func diffObjects(path string, old, new map[string]json.RawMessage) []Difference {
	keys := map[string]bool{}
	for key := range old {
		keys[key] = true
	}
	for key := range new {
		keys[key] = true
	}
	var diffs []Difference
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		diffs = append(diffs, Diff(path+"."+key, old[key], new[key])...)
	}
	return diffs
}

// diffArrays pairs off the elements between equal ones: it compares each pair, and
// an element without a partner was removed or added.
func diffArrays(path string, old, new []json.RawMessage) []Difference {
	var diffs []Difference
	i, j := 0, 0
	gap := func(toI, toJ int) {
		for ; i < toI && j < toJ; i, j = i+1, j+1 {
			diffs = append(diffs, Diff(index(path, j), old[i], new[j])...)
		}
		for ; i < toI; i++ {
			diffs = append(diffs, Difference{Path: index(path, i), Old: old[i]})
		}
		for ; j < toJ; j++ {
			diffs = append(diffs, Difference{Path: index(path, j), New: new[j]})
		}
	}
	for _, m := range align(hashes(old), hashes(new)) {
		gap(m[0], m[1])
		i, j = m[0]+1, m[1]+1
	}
	gap(len(old), len(new))
	return diffs
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func elements(raw []byte) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

func hashes(list []json.RawMessage) [][32]byte {
	out := make([][32]byte, len(list))
	for i, raw := range list {
		out[i], _ = rawjson.Hash(raw)
	}
	return out
}

// align returns pairs of indices of equal elements, rising in both: the elements
// that occur once in each list, as in patience diff, and their equal neighbours.
func align(old, new [][32]byte) [][2]int {
	seenOld, seenNew := occurrences(old), occurrences(new)
	var unique [][2]int // by rising index in old
	for i, h := range old {
		if o, n := seenOld[h], seenNew[h]; o.count == 1 && n.count == 1 {
			unique = append(unique, [2]int{i, n.last})
		}
	}
	return extend(rising(unique), old, new)
}

type occurrence struct{ count, last int }

func occurrences(list [][32]byte) map[[32]byte]occurrence {
	seen := make(map[[32]byte]occurrence, len(list))
	for i, h := range list {
		seen[h] = occurrence{seen[h].count + 1, i}
	}
	return seen
}

// rising returns a longest subsequence of pairs whose second indices rise.
func rising(pairs [][2]int) [][2]int {
	var tops []int // by length: the index in pairs of the least end
	before := make([]int, len(pairs))
	for i, p := range pairs {
		at, _ := slices.BinarySearchFunc(tops, p[1], func(top, j int) int { return pairs[top][1] - j })
		before[i] = -1
		if at > 0 {
			before[i] = tops[at-1]
		}
		if at == len(tops) {
			tops = append(tops, i)
		} else {
			tops[at] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	var out [][2]int
	for i := tops[len(tops)-1]; i >= 0; i = before[i] {
		out = append(out, pairs[i])
	}
	slices.Reverse(out)
	return out
}

// extend adds the equal elements at the ends of every gap between matches.
func extend(matches [][2]int, old, new [][32]byte) [][2]int {
	var out [][2]int
	i, j := 0, 0
	for _, m := range append(matches, [2]int{len(old), len(new)}) {
		for i < m[0] && j < m[1] && old[i] == new[j] {
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		}
		tail := 0
		for m[0]-tail > i && m[1]-tail > j && old[m[0]-tail-1] == new[m[1]-tail-1] {
			tail++
		}
		for ; tail > 0; tail-- {
			out = append(out, [2]int{m[0] - tail, m[1] - tail})
		}
		if m[0] < len(old) && m[1] < len(new) {
			out = append(out, m)
		}
		i, j = m[0]+1, m[1]+1
	}
	return out
}

// String returns a line for a person to read.
func (d Difference) String() string {
	switch {
	case d.Old == nil:
		return fmt.Sprintf("+ %s: %s", d.Path, d.New)
	case d.New == nil:
		return fmt.Sprintf("- %s: %s", d.Path, d.Old)
	}
	return fmt.Sprintf("~ %s: %s → %s", d.Path, d.Old, d.New)
}
