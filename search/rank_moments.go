package search

import (
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// momentTerm is a term as moments are scored by it.
type momentTerm struct {
	*termMatch
	idf   float64
	named []namedSpeakers // speakers whose name it is
}

// rankMoments scores the moments of meetings by the terms and keeps them, best
// first, with each meeting. A scope with speakers leaves only their moments.
func (s *snapshot) rankMoments(list []rankedMeeting, terms []*termMatch, in scope, t tuning) error {
	weighted, err := s.momentTerms(terms, t)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].moments, list[i].momentsRanked = nil, true
	}
	found, err := s.findCandidates(list, in)
	if err != nil {
		return err
	}
	err = s.parallel(len(s.spoken), func(i int) error {
		c, m := found[i], s.spoken[i]
		if len(c.docs) == 0 {
			return nil
		}
		for _, term := range weighted {
			if err := c.score(m, s, term, t); err != nil {
				return err
			}
		}
		return c.appendMoments(m, list, len(terms) == 0)
	})
	for i := range list {
		smoothMoments(list[i].moments, t.neighbour)
	}
	return err
}

// momentTerms finds how rare the terms are among moments, stop words left out. A
// moment with several variants of a word is counted for each; a phrase counts once
// for each meeting that has it. For who does not see all meetings, terms are as rare as
// among the visible ones: the order of moments would tell how many hidden ones have a word.
func (s *snapshot) momentTerms(terms []*termMatch, t tuning) ([]momentTerm, error) {
	all, err := s.moments.DocCount()
	if err != nil {
		return nil, fmt.Errorf("read search index: %w", err)
	}
	if !s.seesAll {
		all = uint64(s.visibleCount)
	}
	var out []momentTerm
	for _, m := range terms {
		if m.stop {
			continue
		}
		n := m.meetings.size()
		if len(m.phrase) == 0 && s.seesAll {
			if n, err = s.countMoments(m.variants); err != nil {
				return nil, err
			}
		}
		named, err := s.speakersNamed(m.variants)
		if err != nil {
			return nil, err
		}
		out = append(out, momentTerm{m, rarity(min(n, int(all)), int(all)) * t.shareOf(m), named})
	}
	return out, nil
}

// countMoments adds up how many moments have each variant of a word.
func (s *snapshot) countMoments(variants []variant) (n int, err error) {
	for _, term := range variantsIn(variants, segment.FieldText) {
		for _, m := range s.spoken {
			count, err := m.terms.Count(segment.FieldText, term)
			if err != nil {
				return 0, err
			}
			n += count
		}
	}
	return n, nil
}

// candidates are moments of one segment, in order, with their scores, and the
// meeting in the list that each is of.
type candidates struct {
	set     *roaring.Bitmap
	docs    []uint32
	meeting []int
	scores  []float64
	tf      []float64 // weighted occurrences of the term that is being scored
}

// findCandidates finds the moments of meetings, by segment. Those of one meeting
// are written together, and so are all in one segment.
func (s *snapshot) findCandidates(list []rankedMeeting, in scope) ([]*candidates, error) {
	out := make([]*candidates, len(s.spoken))
	placed := make([]bool, len(list))
	for i, m := range s.spoken {
		var err error
		if out[i], err = m.findCandidates(list, placed, in); err != nil {
			return nil, err
		}
	}
	return out, s.ctx.Err()
}

// findCandidates finds those of a segment. It marks in placed the meetings whose
// moments it found, and passes over those that are marked.
func (m *momentSegment) findCandidates(list []rankedMeeting, placed []bool, in scope) (*candidates, error) {
	by, err := m.spokenBy(in.speakers)
	if err != nil {
		return nil, err
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
		if docs.IsEmpty() { // as in nearly all segments
			continue
		}
		placed[i] = true
		if by != nil {
			docs.And(by)
		}
		eachDocument(docs, func(doc uint32) { found = append(found, uint64(doc)<<32|uint64(i)) })
	}
	slices.Sort(found)
	n := len(found)
	c := &candidates{docs: make([]uint32, n), meeting: make([]int, n), scores: make([]float64, n), tf: make([]float64, n)}
	for at, f := range found {
		c.docs[at], c.meeting[at] = uint32(f>>32), int(uint32(f))
	}
	c.set = roaring.BitmapOf(c.docs...)
	return c, nil
}

// adder returns a function that adds to the documents' occurrences. It must be
// called with documents in order.
func (c *candidates) adder() func(doc uint32, tf float64) {
	at := 0
	return func(doc uint32, tf float64) {
		for c.docs[at] < doc {
			at++
		}
		c.tf[at] += tf
	}
}

// score adds a term to the candidates' scores.
func (c *candidates) score(m *momentSegment, s *snapshot, term momentTerm, t tuning) error {
	if err := c.count(m, s, term, t); err != nil {
		return err
	}
	for i, tf := range c.tf {
		if tf > 0 {
			c.scores[i] += term.idf * tf * (t.momentK1 + 1) / (tf + t.momentK1)
			c.tf[i] = 0
		}
	}
	return nil
}

// count adds a term's weighted occurrences: in the moment's texts and in its
// speakers' names.
func (c *candidates) count(m *momentSegment, s *snapshot, term momentTerm, t tuning) error {
	if len(term.phrase) > 0 {
		docs, err := c.withPhraseWords(m, s, term.phrase)
		if err != nil {
			return err
		}
		add := c.adder()
		eachDocument(docs, func(doc uint32) { add(doc, t.phrase) })
		return nil
	}
	for _, named := range term.named {
		docs, err := m.withAny(segment.FieldKeys, named.keys)
		if err != nil {
			return err
		}
		docs.And(c.set)
		add := c.adder()
		eachDocument(docs, func(doc uint32) { add(doc, named.weight*t.speaker) })
	}
	for _, fw := range t.moment {
		for _, v := range term.variants {
			if !fw.has(v) {
				continue
			}
			postings, err := m.terms.Postings(fw.field, v.term)
			if err == nil {
				err = postings.EachIn(c.set, fw.weigher(v, c.adder()))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withPhraseWords finds the candidates that have all the words of a phrase that moments
// have. Whether they follow one another is seen when the moment is quoted. A phrase
// of others only, such as stop words, is nowhere.
func (c *candidates) withPhraseWords(m *momentSegment, s *snapshot, phrase []string) (*roaring.Bitmap, error) {
	out := c.set.Clone()
	indexed := false
	for _, term := range phrase {
		if !s.isInMoments(term) {
			continue
		}
		docs, err := m.terms.Documents(segment.FieldText, term)
		if err != nil {
			return nil, err
		}
		out.And(docs)
		indexed = true
	}
	if !indexed {
		return roaring.New(), nil
	}
	return out, nil
}

// appendMoments hands the moments with a score, or all of them, to their meetings.
func (c *candidates) appendMoments(m *momentSegment, list []rankedMeeting, all bool) error {
	for i, doc := range c.docs {
		if c.scores[i] == 0 && !all {
			continue
		}
		name, err := m.seg.DocID(uint64(doc))
		if err != nil {
			return fmt.Errorf("read search index: %w", err)
		}
		if _, entries, ok := readMomentID(name); ok {
			r := &list[c.meeting[i]]
			r.moments = append(r.moments, rankedMoment{entries, c.scores[i]})
		}
	}
	return nil
}
