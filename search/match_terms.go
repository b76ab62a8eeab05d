package search

import (
	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// termMatch is a term of the query as the index has it.
type termMatch struct {
	*queryTerm
	variants []variant  // of a word
	meetings meetingSet // the visible meetings that have it, where it is looked for
	exact    bool       // false: some meetings could not be checked for a phrase
}

// findTerm finds the visible meetings that have a term.
func (s *snapshot) findTerm(t *queryTerm, budget *readBudget) (m *termMatch, err error) {
	m = &termMatch{queryTerm: t, exact: true}
	if len(t.phrase) > 0 {
		m.meetings, m.exact, err = s.findPhrase(t, budget)
		return m, err
	}
	if m.variants, err = s.variantsOf(t.word); err != nil {
		return nil, err
	}
	if len(t.scope.speakers) > 0 {
		m.meetings, err = s.findSaid(m.variants, t.scope)
		return m, err
	}
	terms := map[string][]string{}
	inCRM := s.empty()
	for _, field := range t.scope.textFields() {
		list := variantsIn(m.variants, field)
		if field != segment.FieldCRM || s.seesAll {
			terms[field] = list
		} else if inCRM, err = s.withCRMWords(list...); err != nil {
			return nil, err
		}
	}
	if m.meetings, err = s.withFields(terms); err == nil {
		m.meetings.or(inCRM)
	}
	return m, err
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

// findPhrase finds the meetings that have a phrase. Of a longer phrase the meetings
// with all its pairs are read; exact is false when some could not be.
func (s *snapshot) findPhrase(t *queryTerm, budget *readBudget) (out meetingSet, exact bool, err error) {
	check := &phraseCheck{s: s, budget: budget, phrase: t.phrase, negated: t.negated, exact: true}
	if len(t.scope.speakers) > 0 {
		out, err = s.findPhraseSaid(check, t.scope)
		return out, check.exact, err
	}
	out = s.empty()
	for _, field := range t.scope.textFields() {
		found, err := s.findPhraseIn(check, field)
		if err != nil {
			return nil, false, err
		}
		out.or(found)
	}
	return out, check.exact, nil
}

// findPhraseIn finds the meetings that have a phrase in a field.
func (s *snapshot) findPhraseIn(check *phraseCheck, field string) (meetingSet, error) {
	if field == segment.FieldCRM && !s.seesAll {
		found, err := s.withAllCRMWords(check.phrase)
		if err != nil {
			return nil, err
		}
		return check.keepMeetings(found, field)
	}
	found, err := s.withPairs(field, check.phrase)
	if err != nil {
		return nil, err
	}
	if len(check.phrase) == 2 && s.format >= 2 {
		return found, nil
	}
	return check.keepMeetings(found, field)
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
		matching, err := s.withTerms(in, term)
		if err != nil {
			return nil, err
		}
		found.and(matching)
	}
	return found, nil
}

// findPhraseSaid finds the meetings where a phrase is said in a moment in which
// all the speakers of a scope speak.
func (s *snapshot) findPhraseSaid(check *phraseCheck, in scope) (meetingSet, error) {
	candidates, err := s.withPairs(segment.FieldText, check.phrase)
	if err != nil {
		return nil, err
	}
	if check.rarest, err = s.rarestWord(check.phrase); err != nil {
		return nil, err
	}
	return s.withMoments(func(m *momentSegment) (*roaring.Bitmap, error) {
		docs, err := m.spokenBy(in.speakers)
		if err != nil || docs.IsEmpty() {
			return docs, err
		}
		if check.rarest != "" {
			matching, err := m.terms.Documents(segment.FieldText, check.rarest)
			if err != nil {
				return nil, err
			}
			docs = roaring.And(docs, matching)
		}
		return check.keepMoments(m, docs, candidates)
	})
}

// rarestWord is the word of a phrase that the fewest visible meetings have, of those that
// the text of moments has; empty when all are stop words.
func (s *snapshot) rarestWord(phrase []string) (string, error) {
	best, fewest := "", 0
	for _, t := range phrase {
		if s.isStopWord(t) {
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
