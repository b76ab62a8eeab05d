package outline

import (
	"math"
	"slices"
	"time"

	"minutebook/search/text"
)

// tiling divides a talk where its vocabulary changes (TextTiling, Hearst 1997): the words
// before and after each gap between blocks of lines are compared, and a gap where they
// have little in common lies deep between its neighbours.
type tiling struct {
	lines  []Line
	words  int
	terms  map[string]int // numbers of the terms
	of     [][]text.Token // of each line
	blocks []block
	weight []float64 // of each term: those of few blocks tell more
}

// block is some successive lines with about blockWords words.
type block struct {
	first int         // its first line
	count map[int]int // its terms
}

const (
	blockWords = 100
	window     = 10 // blocks on either side of a gap
)

func newTiling(lines []Line) *tiling {
	t := &tiling{lines: lines, terms: map[string]int{}, of: make([][]text.Token, len(lines))}
	inBlock := blockWords // the first line begins a block
	for i, l := range lines {
		t.of[i] = text.Tokenize(l.Text)
		if inBlock >= blockWords {
			t.blocks, inBlock = append(t.blocks, block{first: i, count: map[int]int{}}), 0
		}
		inBlock += len(t.of[i])
		t.words += len(t.of[i])
		for _, token := range t.of[i] {
			n, ok := t.terms[token.Term]
			if !ok {
				n = len(t.terms)
				t.terms[token.Term] = n
			}
			t.blocks[len(t.blocks)-1].count[n]++
		}
	}
	in := make([]int, len(t.terms))
	for _, b := range t.blocks {
		for n := range b.count {
			in[n]++
		}
	}
	t.weight = make([]float64, len(in))
	for n, blocks := range in {
		if blocks > 1 { // a word that is said once ties nothing together
			t.weight[n] = math.Log(float64(len(t.blocks)) / float64(blocks))
		}
	}
	return t
}

// chapterStarts returns the first lines of the chapters after the first, or nothing where
// the talk has no clear turns: those gaps that lie deeper than all of the same blocks in
// a shuffled order, in which no subject lasts.
func (t *tiling) chapterStarts() []int {
	shuffled := slices.Clone(t.blocks)
	for i, state := len(shuffled)-1, uint64(1); i > 0; i-- { // always the same order
		state = state*6364136223846793005 + 1442695040888963407
		j := int((state >> 33) % uint64(i+1))
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	}
	noise := t.depths(shuffled)
	if len(noise) == 0 {
		return nil
	}
	deep := slices.Max(noise)
	depths := t.depths(t.blocks)
	order := make([]int, len(depths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, depths[b]-depths[a])) })
	var starts []int
	last := t.lines[len(t.lines)-1].At
	for _, gap := range order {
		if depths[gap] <= deep {
			break
		}
		line := t.turnNear(gap + 1)
		at := t.lines[line].At
		near := slices.ContainsFunc(starts, func(other int) bool { return (t.lines[other].At - at).Abs() < minChapter })
		if !near && at-t.lines[0].At >= minChapter && last-at >= minChapter {
			starts = append(starts, line)
		}
	}
	slices.Sort(starts)
	return starts
}

// turnNear returns the line at or beside the beginning of a block at which a chapter
// begins best: after a silence, with another speaker.
func (t *tiling) turnNear(b int) int {
	from, to := t.blocks[b-1].first+1, len(t.lines)-1
	if b+1 < len(t.blocks) {
		to = t.blocks[b+1].first
	}
	best, most := t.blocks[b].first, -1.0
	for i := max(1, from); i <= to; i++ {
		before := t.lines[i-1]
		spoken := time.Duration(len(before.Text)) * 65 * time.Millisecond
		score := min(10, max(0, (t.lines[i].At-before.At-spoken).Seconds()))
		if t.lines[i].Speaker != before.Speaker {
			score += 2
		}
		if i == t.blocks[b].first {
			score++
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}

// depths returns how deep each gap between blocks lies between the highest likenesses on
// either side of it.
func (t *tiling) depths(blocks []block) []float64 {
	like := t.likenesses(blocks)
	depths := make([]float64, len(like))
	for i, here := range like {
		left, right := here, here
		for j := i - 1; j >= 0 && like[j] >= left; j-- {
			left = like[j]
		}
		for j := i + 1; j < len(like) && like[j] >= right; j++ {
			right = like[j]
		}
		depths[i] = left + right - 2*here
	}
	return depths
}

// likenesses returns the cosine of the weighted words before and after each gap. The two
// windows move from gap to gap, and only the words that enter and leave are counted.
func (t *tiling) likenesses(blocks []block) []float64 {
	if len(blocks) < 2*window {
		return nil
	}
	w := &windows{left: make([]float64, len(t.weight)), right: make([]float64, len(t.weight))}
	add := func(i int, right bool, sign float64) {
		if i < 0 || i >= len(blocks) {
			return
		}
		for n, count := range blocks[i].count {
			w.add(n, right, sign*t.weight[n]*math.Sqrt(float64(count)))
		}
	}
	for i := range window {
		add(i+1, true, 1)
	}
	add(0, false, 1)
	like := make([]float64, len(blocks)-1)
	for gap := range like {
		like[gap] = w.cosine()
		add(gap+1, true, -1)
		add(gap+1, false, 1)
		add(gap+1-window, false, -1)
		add(gap+1+window, true, 1)
	}
	return like
}

// windows holds the words before and after a gap, with their product and lengths.
type windows struct {
	left, right                []float64
	product, leftSum, rightSum float64 // the sums are of squares
}

func (w *windows) add(term int, right bool, by float64) {
	side, sum, other := w.left, &w.leftSum, w.right
	if right {
		side, sum, other = w.right, &w.rightSum, w.left
	}
	w.product += by * other[term]
	*sum += 2*by*side[term] + by*by
	side[term] += by
}

func (w *windows) cosine() float64 {
	if w.leftSum < 1e-9 || w.rightSum < 1e-9 {
		return 0
	}
	return w.product / math.Sqrt(w.leftSum*w.rightSum)
}
