package outline

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"minutebook/search/text"
)

// division divides a talk where its vocabulary changes. Of all divisions it finds the one
// under which the words are the most likely, when each chapter draws its words from a
// distribution of its own (Eisenstein and Barzilay 2008), and each further chapter has to
// be worth its price.
type division struct {
	lines         []Line
	tokens        [][]text.Token // of each line
	stop, fillers map[string]bool
	stems         map[string]int // numbers of the stems
	blocks        []block
	in            []int // blocks in which each stem is
	said          []int // how often it is said
}

// block is some successive lines with about blockWords words.
type block struct {
	first int   // its first line
	stems []int // those of its words that tell subjects apart
}

const (
	blockWords = 30
	stemRunes  = 6   // words with the same beginning count as one
	density    = 0.3 // of the distributions: the smaller, the fewer words make a chapter
	price      = 10  // of a chapter, times the logarithm of the lines
	maxShare   = 0.3 // of the blocks: a word that is in more of them tells nothing
	maxChapter = 2 * time.Hour
)

func newDivision(lines []Line, stop map[string]bool) *division {
	d := &division{lines: lines, stop: stop, fillers: listFillers(), stems: map[string]int{}, tokens: make([][]text.Token, len(lines))}
	last := map[int]int{} // the block in which a stem was counted last
	inBlock := blockWords // the first line begins a block
	for i, l := range lines {
		d.tokens[i] = text.Tokenize(l.Text)
		if inBlock >= blockWords {
			d.blocks, inBlock = append(d.blocks, block{first: i}), 0
		}
		inBlock += len(d.tokens[i])
		b := &d.blocks[len(d.blocks)-1]
		for _, token := range d.tokens[i] {
			stem := d.number(token.Term)
			if stem < 0 {
				continue
			}
			b.stems = append(b.stems, stem)
			d.said[stem]++
			if at, ok := last[stem]; !ok || at != len(d.blocks) {
				last[stem] = len(d.blocks)
				d.in[stem]++
			}
		}
	}
	for i := range d.blocks {
		d.blocks[i].stems = slices.DeleteFunc(d.blocks[i].stems, func(stem int) bool { return !d.tells(stem) })
	}
	return d
}

// number returns the number of a term's stem, -1 for a word that says nothing.
func (d *division) number(term string) int {
	if d.stop[term] || !isTelling(term) {
		return -1
	}
	stem := term
	for i, n := 0, 0; i < len(term); n++ {
		if n == stemRunes {
			stem = term[:i]
			break
		}
		_, size := utf8.DecodeRuneInString(term[i:])
		i += size
	}
	n, ok := d.stems[stem]
	if !ok {
		n = len(d.in)
		d.stems[stem] = n
		d.in, d.said = append(d.in, 0), append(d.said, 0)
	}
	return n
}

// tells reports whether a stem tells subjects apart: it is said again, and not everywhere.
func (d *division) tells(stem int) bool {
	return d.in[stem] > 1 && float64(d.in[stem]) < maxShare*float64(len(d.blocks))+2
}

// chapterStarts returns the first lines of the chapters after the first one, or nothing
// where one chapter is the most likely.
func (d *division) chapterStarts() (starts []int) {
	begins := d.divide()
	for _, b := range begins {
		if line := d.turnNear(b); len(starts) == 0 || d.lines[line].At-d.lines[starts[len(starts)-1]].At >= minChapter {
			starts = append(starts, line)
		}
	}
	return starts
}

// divide returns the first blocks of the chapters after the first one.
func (d *division) divide() (begins []int) {
	n := len(d.blocks)
	best, from := make([]float64, n+1), make([]int, n+1)
	for i := range best[1:] {
		best[i+1] = math.Inf(-1)
	}
	words := d.newLikelihood()
	perChapter := price * math.Log(float64(len(d.lines)))
	for i := range n {
		if math.IsInf(best[i], -1) {
			continue
		}
		words.clear()
		for j := i + 1; j <= n; j++ {
			words.add(d.blocks[j-1].stems)
			length := d.at(j) - d.at(i)
			if length < minChapter && (i > 0 || j < n) {
				continue
			}
			if score := best[i] + words.log() - perChapter; score > best[j] {
				best[j], from[j] = score, i
			}
			if i > 0 && length > maxChapter {
				break
			}
		}
	}
	for j := from[n]; j > 0; j = from[j] {
		begins = append(begins, j)
	}
	slices.Reverse(begins)
	return begins
}

// at returns when a block begins, or the talk's last line where there is none.
func (d *division) at(b int) time.Duration {
	if b == len(d.blocks) {
		return d.lines[len(d.lines)-1].At
	}
	return d.lines[d.blocks[b].first].At
}

// likelihood is that of the words of a chapter, its distribution integrated out.
type likelihood struct {
	count   []int
	seen    []int // the stems that are counted
	words   int
	sum     float64
	kinds   float64   // the density of all stems together
	logs    []float64 // of a count and the density
	product []float64 // the logarithm of the product of the counts of all words and kinds
}

func (d *division) newLikelihood() *likelihood {
	l := &likelihood{count: make([]int, len(d.in))}
	total := 0
	for _, b := range d.blocks {
		total += len(b.stems)
	}
	for stem := range d.in {
		if d.in[stem] > 1 {
			l.kinds += density
		}
	}
	l.logs, l.product = make([]float64, total), make([]float64, total+1)
	for i := range total {
		l.logs[i] = math.Log(float64(i) + density)
		l.product[i+1] = l.product[i] + math.Log(float64(i)+l.kinds)
	}
	return l
}

func (l *likelihood) clear() {
	for _, stem := range l.seen {
		l.count[stem] = 0
	}
	l.seen, l.words, l.sum = l.seen[:0], 0, 0
}

func (l *likelihood) add(stems []int) {
	for _, stem := range stems {
		if l.count[stem] == 0 {
			l.seen = append(l.seen, stem)
		}
		l.sum += l.logs[l.count[stem]]
		l.count[stem]++
		l.words++
	}
}

// log returns the logarithm of the likelihood.
func (l *likelihood) log() float64 { return l.sum - l.product[l.words] }

// turnNear returns the line at or beside the beginning of a block at which a chapter
// begins best: after a silence, with another speaker.
func (d *division) turnNear(b int) int {
	from, to := d.blocks[b-1].first+1, len(d.lines)-1
	if b+1 < len(d.blocks) {
		to = d.blocks[b+1].first
	}
	best, most := d.blocks[b].first, -1.0
	for i := max(1, from); i <= to; i++ {
		before := d.lines[i-1]
		spoken := time.Duration(len(before.Text)) * 65 * time.Millisecond
		score := min(10, max(0, (d.lines[i].At-before.At-spoken).Seconds()))
		if d.lines[i].Speaker != before.Speaker {
			score += 2
		}
		if i == d.blocks[b].first {
			score++
		}
		if score > most {
			best, most = i, score
		}
	}
	return best
}
