package search

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// ranked is a meeting in the order of the answer.
type ranked struct {
	id      int64
	start   int64
	score   float64
	ranked  bool           // its moments were
	moments []rankedMoment // best first
}

// rankedMoment is a moment of a meeting with its score.
type rankedMoment struct {
	stretch
	score float64
}

// before orders by score, then newest, then by id, all descending.
func (r ranked) before(o ranked) bool {
	if r.score != o.score {
		return r.score > o.score
	}
	if r.start != o.start {
		return r.start > o.start
	}
	return r.id > o.id
}

// worst is a heap whose first is the one to drop.
type worst []ranked

func (h worst) Len() int           { return len(h) }
func (h worst) Less(i, j int) bool { return h[j].before(h[i]) }
func (h worst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worst) Push(x any)        { *h = append(*h, x.(ranked)) }
func (h *worst) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// best returns the first n of a set in the order of before, those that skip
// says yes to left out. Without scores the order is newest first.
func (v *view) best(set docset, s scores, n int, skip func(ranked) bool) []ranked {
	var h worst
	for i, docs := range set {
		cols := v.columns[i]
		eachOf(docs, func(doc uint32) {
			score := 0.0
			if s != nil {
				score = float64(s[i][doc])
			}
			if len(h) == n && score < h[0].score { // as most are
				return
			}
			r := ranked{id: cols.id[doc], start: cols.start[doc], score: score}
			if len(h) == n && !r.before(h[0]) || skip != nil && skip(r) {
				return
			}
			heap.Push(&h, r)
			if len(h) > n {
				heap.Pop(&h)
			}
		})
	}
	sort.Slice(h, func(i, j int) bool { return h[i].before(h[j]) })
	return h
}

// rankMoments scores the moments of meetings by the leaves and keeps them,
// best first, with each.
func (v *view) rankMoments(list []ranked, leaves []*leaf, in scope, t tuning) error {
	rarities, err := v.momentRarities(leaves)
	if err != nil {
		return err
	}
	if err := v.voicesNamed(leaves); err != nil {
		return err
	}
	for i := range list {
		list[i].moments, list[i].ranked = nil, true
	}
	found, err := v.candidates(list, in)
	if err != nil {
		return err
	}
	err = v.beside(len(v.spoken), func(s int) error {
		c, m := found[s], v.spoken[s]
		if len(c.docs) == 0 {
			return nil
		}
		for i, l := range leaves {
			if err := m.score(c, l, rarities[i]*t.of(l), t); err != nil {
				return err
			}
		}
		return m.collect(c, list, len(leaves) == 0)
	})
	for i := range list {
		smooth(list[i].moments, t.neighbour)
	}
	return err
}

// candidates are documents of a segment, in order, with their scores, and the
// meeting in the list that each is of.
type candidates struct {
	set    *roaring.Bitmap
	docs   []uint32
	of     []int
	scores []float64
	tf     []float64
}

// candidates are the moments of meetings, by segment. Those of one meeting are
// written together, and so are all in one segment.
func (v *view) candidates(list []ranked, in scope) ([]*candidates, error) {
	out := make([]*candidates, len(v.spoken))
	placed := make([]bool, len(list))
	for s, m := range v.spoken {
		var err error
		if out[s], err = m.candidates(list, placed, in); err != nil {
			return nil, err
		}
	}
	return out, v.ctx.Err()
}

// candidates are those of a segment. placed says of which meetings they were
// found.
func (m *momentSegment) candidates(list []ranked, placed []bool, in scope) (*candidates, error) {
	var by []*roaring.Bitmap
	for _, s := range in.speakers {
		docs, err := m.speaker(s)
		if err != nil {
			return nil, err
		}
		by = append(by, docs)
	}
	var found []uint64 // documents, each with its place in the list
	for i, r := range list {
		if placed[i] {
			continue
		}
		docs, err := m.ofMeeting(r.id)
		if err != nil {
			return nil, err
		}
		placed[i] = !docs.IsEmpty()
		for _, s := range by {
			docs.And(s)
		}
		eachOf(docs, func(doc uint32) { found = append(found, uint64(doc)<<32|uint64(i)) })
	}
	slices.Sort(found)
	n := len(found)
	c := &candidates{docs: make([]uint32, n), of: make([]int, n), scores: make([]float64, n), tf: make([]float64, n)}
	for at, f := range found {
		c.docs[at], c.of[at] = uint32(f>>32), int(uint32(f))
	}
	c.set = roaring.BitmapOf(c.docs...)
	return c, nil
}

// adding returns a function that adds to the documents' occurrences. It must be
// called with documents in order.
func (c *candidates) adding() func(doc uint32, tf float64) {
	at := 0
	return func(doc uint32, tf float64) {
		for c.docs[at] < doc {
			at++
		}
		c.tf[at] += tf
	}
}

// score adds a leaf to the candidates' scores.
func (m *momentSegment) score(c *candidates, l *leaf, idf float64, t tuning) error {
	if l.stop || l.meetings == nil {
		return nil
	}
	if len(l.terms) > 0 {
		docs, err := m.phrase(l.terms, c.set)
		if err != nil {
			return err
		}
		add := c.adding()
		eachOf(docs, func(doc uint32) { add(doc, t.phrase) })
	} else {
		if err := m.named(l, c, t.speaker); err != nil {
			return err
		}
		for _, fw := range t.moment {
			if err := c.addForms(m.words, fw, l.forms); err != nil {
				return err
			}
		}
	}
	for i, tf := range c.tf {
		if tf > 0 {
			c.scores[i] += idf * tf * (t.momentK1 + 1) / (tf + t.momentK1)
			c.tf[i] = 0
		}
	}
	return nil
}

// addForms adds the weighed occurrences of each form of a word in a field.
func (c *candidates) addForms(words *segment.TermReader, fw fieldWeight, forms []form) error {
	for _, f := range forms {
		if !f.in.has(fw.field) && !f.in.has(fw.also) {
			continue
		}
		found, err := words.Postings(fw.field, f.term)
		if err == nil {
			err = found.EachIn(c.set, fw.weigh(f, c.adding()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collect hands the moments with a score, or all of them, to their meetings.
func (m *momentSegment) collect(c *candidates, list []ranked, all bool) error {
	for i, doc := range c.docs {
		if c.scores[i] == 0 && !all {
			continue
		}
		name, err := m.seg.DocID(uint64(doc))
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		if _, st, ok := readMomentID(name); ok {
			r := &list[c.of[i]]
			r.moments = append(r.moments, rankedMoment{st, c.scores[i]})
		}
	}
	return nil
}

// smooth gives moments a share of the ones before and after them, and sorts
// them, best first.
func smooth(moments []rankedMoment, share float64) {
	slices.SortFunc(moments, func(a, b rankedMoment) int { return a.From - b.From })
	plain := make([]float64, len(moments))
	for i, m := range moments {
		plain[i] = m.score
	}
	for i := range moments {
		if i > 0 && moments[i-1].To == moments[i].From {
			moments[i].score += share * plain[i-1]
		}
		if i+1 < len(moments) && moments[i].To == moments[i+1].From {
			moments[i].score += share * plain[i+1]
		}
	}
	sort.SliceStable(moments, func(i, j int) bool { return moments[i].score > moments[j].score })
}

// combine adds the moments' scores to the meetings' and sorts anew.
func combine(list []ranked, t tuning) {
	for i := range list {
		for j, m := range list[i].moments {
			switch {
			case j == 0:
				list[i].score += t.best * m.score
			case j < 3:
				list[i].score += t.more * m.score
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].before(list[j]) })
}

// momentRarities are the leaves' rarities among moments. A moment with several
// forms of a word is counted for each; a phrase counts once for each meeting
// that has it.
func (v *view) momentRarities(leaves []*leaf) ([]float64, error) {
	all, err := v.moments.DocCount()
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	out := make([]float64, len(leaves))
	for i, l := range leaves {
		n := 0
		if len(l.terms) > 0 && l.meetings != nil {
			n = l.meetings.size()
		}
		for _, m := range v.spoken {
			found, err := m.count(l)
			if err != nil {
				return nil, err
			}
			n += found
		}
		out[i] = rarity(min(n, int(all)), int(all))
	}
	return out, nil
}

// count is how many moments have a leaf.
func (m *momentSegment) count(l *leaf) (n int, err error) {
	if len(l.terms) > 0 {
		return 0, nil
	}
	for _, f := range l.forms {
		if !f.in.has(segment.FieldText) {
			continue
		}
		found, err := m.words.Count(segment.FieldText, f.term)
		if err != nil {
			return 0, err
		}
		n += found
	}
	return n, nil
}
