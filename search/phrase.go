package search

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// findPhrase finds words that follow one another.
func (v *view) findPhrase(l *leaf, in scope) (docset, error) {
	if len(in.speakers) > 0 {
		return v.phraseSaidBy(l, in)
	}
	out := v.none()
	for _, field := range in.in() {
		if field == segment.FieldCRM && !v.everything {
			found, err := v.crmPhrase(l.terms)
			if err != nil {
				return nil, err
			}
			out.or(found)
			continue
		}
		found, err := v.withPairs(field, l.terms)
		if err != nil {
			return nil, err
		}
		if len(l.terms) > 2 || v.format < 2 {
			if found, err = v.verified(found, field, l.terms); err != nil {
				return nil, err
			}
		}
		out.or(found)
	}
	return out, nil
}

// withPairs is the set of visible meetings that have all pairs of a phrase in
// a field; in an index of before there were pairs, all words.
func (v *view) withPairs(field string, terms []string) (docset, error) {
	found := v.all()
	for i := range terms {
		in, term := field, terms[i]
		if v.format >= 2 {
			if i == 0 {
				continue
			}
			in, term = segment.FieldPairs, segment.PairTerm(field, terms[i-1], terms[i])
		}
		one, err := v.withTerms(in, term)
		if err != nil {
			return nil, err
		}
		found.and(one)
	}
	return found, nil
}

// phraseSaidBy finds the meetings where a phrase is said in a moment in which
// all the speakers speak.
func (v *view) phraseSaidBy(l *leaf, in scope) (docset, error) {
	said, err := v.withPairs(segment.FieldText, l.terms)
	if err != nil {
		return nil, err
	}
	rarest, err := v.rarest(l.terms)
	if err != nil {
		return nil, err
	}
	return v.saidBy(in, func(m *momentSegment, by *roaring.Bitmap) (*roaring.Bitmap, error) {
		if rarest != "" {
			with, err := m.words.Documents(segment.FieldText, rarest)
			if err != nil {
				return nil, err
			}
			by = roaring.And(by, with)
		}
		return m.verified(by, said, l.terms)
	})
}

// rarest is the word of a phrase that the fewest meetings have, of those that
// the text of moments has; empty when they are all stop words.
func (v *view) rarest(terms []string) (string, error) {
	best, fewest := "", 0
	for _, t := range terms {
		if v.isStop(t) {
			continue
		}
		n := 0
		for _, words := range v.lexicons {
			found, err := words.Count(segment.FieldText, t)
			if err != nil {
				return "", err
			}
			n += found
		}
		if best == "" || n < fewest {
			best, fewest = t, n
		}
	}
	return best, nil
}

// isStop says whether a word is a stop word in any of the viewer's languages,
// and so may be missing in the text of moments.
func (v *view) isStop(term string) bool {
	return slices.ContainsFunc(v.langs, func(l *text.Language) bool { return l.StopWords[term] })
}

// saidBy finds the meetings with a moment of which what says that it matches,
// among those in which all the speakers speak.
func (v *view) saidBy(in scope, what func(m *momentSegment, by *roaring.Bitmap) (*roaring.Bitmap, error)) (docset, error) {
	return v.inMoments(func(m *momentSegment) (*roaring.Bitmap, error) {
		var by *roaring.Bitmap
		for _, s := range in.speakers {
			docs, err := m.speaker(s)
			if err != nil {
				return nil, err
			}
			if by == nil {
				by = docs
				continue
			}
			by.And(docs)
		}
		if by.IsEmpty() {
			return by, nil
		}
		return what(m, by)
	})
}
