package search

import (
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// termMatch is a term of the query as the index has it.
type termMatch struct {
	*queryTerm
	variants []variant    // of a word
	areAll   bool         // no other variant is known to be left out, or it is a phrase
	meetings meetingSet   // the visible meetings that have it, where it is looked for
	check    *phraseCheck // of a phrase that meetings are to be read for; until then meetings are its bound
}

// findTerm finds the visible meetings that have a term, or of a phrase those that may.
func (s *snapshot) findTerm(t *queryTerm, budget *readBudget) (m *termMatch, err error) {
	m = &termMatch{queryTerm: t, areAll: true}
	if len(t.phrase) > 0 {
		check, err := s.findPhrase(t, budget)
		if err != nil {
			return nil, err
		}
		if m.meetings = check.bound(); len(check.waiting) > 0 {
			m.check = check
		}
		return m, nil
	}
	if t.negated && t.word.isBeginning() {
		m.meetings, m.areAll, err = s.withBeginning(t)
		return m, err
	}
	if m.variants, m.areAll, err = s.variantsOf(t); err != nil {
		return nil, err
	}
	if m.meetings, err = s.withVariants(m.variants, t.scope.unsaidFields()); err != nil || len(t.scope.speakers) == 0 {
		return m, err
	}
	said, err := s.findSaid(m.variants, t.scope)
	if err != nil {
		return nil, err
	}
	if m.meetings.or(said); s.isReadWhereSaid(t) {
		err = s.readWhereSaid(m, budget)
	}
	return m, err
}

// withVariants finds the visible meetings that have one of some variants in one of some fields. Of
// CRM matches it asks those that the viewer sees.
func (s *snapshot) withVariants(variants []variant, fields []string) (found meetingSet, err error) {
	terms := map[string][]string{}
	inCRM := s.empty()
	for _, field := range fields {
		list := variantsIn(variants, field)
		if field != segment.FieldCRM || s.seesAll {
			terms[field] = list
		} else if inCRM, err = s.withCRMWords(list...); err != nil {
			return nil, err
		}
	}
	if found, err = s.withFields(terms); err != nil {
		return nil, err
	}
	return found.or(inCRM), nil
}

// withBeginning finds the visible meetings that have any word with the beginning of a term. Stop
// words that somebody said are not in moments: a meeting that may have one counts, and isExact
// is false.
func (s *snapshot) withBeginning(t *queryTerm) (found meetingSet, isExact bool, err error) {
	found, isExact = s.empty(), true
	for _, field := range t.scope.unsaidFields() {
		var with meetingSet
		if field == segment.FieldCRM && !s.seesAll {
			with, err = s.withCRMBeginning(t.word.term)
		} else {
			with, err = s.withFieldBeginning(field, t.word.term)
		}
		if err != nil {
			return nil, false, err
		}
		found.or(with)
	}
	if len(t.scope.speakers) == 0 {
		return found, true, nil
	}
	said, err := s.withMoments(func(m *momentSegment) (*roaring.Bitmap, error) {
		by, err := m.spokenBy(t.scope.speakers)
		if err != nil {
			return nil, err
		}
		return m.terms.Beginning(s.ctx, segment.FieldText, t.word.term, by)
	})
	if err != nil {
		return nil, false, err
	}
	mayHave, err := s.withTerms(segment.FieldText, s.stopWordsWith(t.word.term)...)
	if err != nil {
		return nil, false, err
	}
	speak, err := s.withMoments(func(m *momentSegment) (*roaring.Bitmap, error) { return m.spokenBy(t.scope.speakers) })
	if err != nil {
		return nil, false, err
	}
	mayHave.and(speak).andNot(found.or(said))
	return found.or(mayHave), mayHave.size() == 0, nil
}

// findSaid finds the meetings where a word is said in a moment in which all the
// speakers of a scope speak.
func (s *snapshot) findSaid(variants []variant, in scope) (meetingSet, error) {
	terms := variantsIn(variants, segment.FieldText)
	return s.withMoments(func(m *momentSegment) (*roaring.Bitmap, error) {
		by, err := m.spokenBy(in.speakers)
		if err != nil || by.IsEmpty() {
			return by, err
		}
		docs, err := m.withAny(segment.FieldText, terms)
		if err == nil {
			docs.And(by)
		}
		return docs, err
	})
}

// isReadWhereSaid reports whether a word that somebody said is one of those that moments leave
// out, so that it must be read like a phrase.
func (s *snapshot) isReadWhereSaid(t *queryTerm) bool {
	return len(t.scope.speakers) > 0 && len(t.phrase) == 0 && !t.stop && s.isStopWord(t.word.term)
}

// readWhereSaid has the meetings read that have a word in moments of its speakers that may
// leave it out.
func (s *snapshot) readWhereSaid(m *termMatch, budget *readBudget) error {
	c := &phraseCheck{s: s, budget: budget, passage: passage{[]string{m.word.term}, m.scope.speakers}, negated: m.negated, found: m.meetings}
	if err := c.waitSaid(s.withTerms(segment.FieldText, m.word.term)); err != nil || len(c.waiting) == 0 {
		return err
	}
	m.check, m.meetings = c, c.bound()
	return nil
}

// findPhrase finds the meetings that have a phrase, and those with all its pairs, which are
// to be read.
func (s *snapshot) findPhrase(t *queryTerm, budget *readBudget) (*phraseCheck, error) {
	c := &phraseCheck{s: s, budget: budget, passage: passage{t.phrase, t.scope.speakers}, negated: t.negated, run: t.run, found: s.empty()}
	if len(t.scope.speakers) > 0 {
		if err := c.waitSaid(s.withPairs(segment.FieldText, t.phrase)); err != nil {
			return nil, err
		}
	}
	for _, field := range t.scope.unsaidFields() {
		if field == segment.FieldPeople { // which has words without their order
			with, err := s.withName(keyPerson, t.name)
			if err != nil {
				return nil, err
			}
			c.found.or(with)
			continue
		}
		if field == segment.FieldCRM && !s.seesAll {
			with, err := s.withAllCRMWords(t.phrase)
			if err != nil {
				return nil, err
			}
			c.wait(field, with)
			continue
		}
		with, err := s.withPairs(field, t.phrase)
		if err != nil {
			return nil, err
		}
		if len(t.phrase) == 2 && s.format >= 2 {
			c.found.or(with)
		} else {
			c.wait(field, with)
		}
	}
	return c, nil
}

// withPairs finds the visible meetings that have all pairs of a phrase in a field;
// in an index of format 1, which has no pairs, all words.
func (s *snapshot) withPairs(field string, phrase []string) (meetingSet, error) {
	found := s.visible()
	for i := range phrase {
		in, term := field, phrase[i]
		if s.format >= 2 {
			if i == 0 {
				continue
			}
			in, term = segment.FieldPairs, segment.PairTerm(field, phrase[i-1], phrase[i])
		}
		matching, err := s.withPhraseTerm(in, term)
		if err != nil {
			return nil, err
		}
		found.and(matching)
	}
	return found, nil
}

// withPhraseTerm finds the visible meetings that have a term of a phrase, or a pair, in a field:
// with a star behind it, any that begins so.
func (s *snapshot) withPhraseTerm(field, term string) (meetingSet, error) {
	if begin, isBeginning := strings.CutSuffix(term, "*"); isBeginning {
		return s.withFieldBeginning(field, begin)
	}
	return s.withTerms(field, term)
}

// waitSaid adds those of some meetings, which have the words of a passage, that have moments
// in or at which its speakers may say it.
func (c *phraseCheck) waitSaid(with meetingSet, err error) error {
	if err != nil {
		return err
	}
	moments, err := c.s.momentsToRead(c.passage)
	if err != nil {
		return err
	}
	said, err := c.s.inMeetings(moments)
	if err == nil {
		c.wait(segment.FieldText, said.and(with))
	}
	return err
}

// rarestWord is the word of a phrase that the fewest visible meetings have, of those that
// the text of moments has; empty when there is none.
func (s *snapshot) rarestWord(phrase []string) (string, error) {
	best, fewest := "", 0
	for _, t := range phrase {
		if !s.isInMoments(t) {
			continue
		}
		n := 0
		for _, m := range s.segments {
			count, err := m.terms.CountIn(segment.FieldText, t, m.visible)
			if err != nil {
				return "", err
			}
			n += count
		}
		if best == "" || n < fewest {
			best, fewest = t, n
		}
	}
	return best, nil
}
