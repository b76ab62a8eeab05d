package search

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// momentSegment is one segment of the moments' index.
type momentSegment struct {
	v   *view
	seg *scorch.SegmentSnapshot
}

// inMoments finds the visible meetings that have a moment of which what says
// that it matches.
func (v *view) inMoments(what func(*momentSegment) (*roaring.Bitmap, error)) (docset, error) {
	out := v.none()
	for _, seg := range v.moments.Segments() {
		docs, err := what(&momentSegment{v, seg})
		if err != nil {
			return nil, err
		}
		last := int64(-1)
		for it := docs.Iterator(); it.HasNext(); {
			name, err := seg.DocID(uint64(it.Next()))
			if err != nil {
				return nil, fmt.Errorf("read search index: %w", err)
			}
			if id := meetingOf(name); id != last {
				v.addMeeting(out, id)
				last = id
			}
		}
		if err := v.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// meetingOf is the meeting that a moment's name begins with.
func meetingOf(name []byte) int64 {
	var id int64
	for i, c := range name {
		if c == '-' && i == 0 {
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int64(c-'0')
	}
	if len(name) > 0 && name[0] == '-' {
		return -id
	}
	return id
}

// any is the set of moments that have one of the terms in a field.
func (m *momentSegment) any(field string, terms []string) (*roaring.Bitmap, error) {
	out := roaring.New()
	for _, t := range terms {
		if err := addPostings(out, m.seg, field, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// phrase is the set of moments that have a phrase. It is remembered for the
// search.
func (m *momentSegment) phrase(terms []string) (*roaring.Bitmap, error) {
	key := phraseKey{m.seg.Id(), strings.Join(terms, " ")}
	if docs, ok := m.v.phrases[key]; ok {
		return docs.Clone(), nil
	}
	docs, err := m.pairs(terms)
	if err != nil {
		return nil, err
	}
	if docs, err = m.verified(docs, terms); err != nil {
		return nil, err
	}
	m.v.phrases[key] = docs
	return docs.Clone(), nil
}

// phraseKey names a phrase in a segment.
type phraseKey struct {
	segment uint64
	terms   string
}

// pairs is the set of moments that have the hashes of all pairs of a phrase.
// Where a word of it is in the text of moments at all, it must be in theirs or,
// for the last, may be in the moment after.
func (m *momentSegment) pairs(terms []string) (*roaring.Bitmap, error) {
	var out *roaring.Bitmap
	for i := 1; i < len(terms); i++ {
		docs, err := postings(m.seg, fieldPairs, pairTerm(fieldText, terms[i-1], terms[i]))
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = docs
			continue
		}
		out.And(docs)
	}
	if m.v.isStop(terms[0]) {
		return out, nil
	}
	docs, err := postings(m.seg, fieldText, terms[0])
	if err != nil {
		return nil, err
	}
	out.And(docs)
	return out, nil
}

// isStop says whether a word is a stop word in any of the viewer's languages,
// and so may be missing in the text of moments.
func (v *view) isStop(term string) bool {
	for _, l := range v.langs {
		if l.stop[term] {
			return true
		}
	}
	return false
}

// speaker is the set of moments in which a speaker speaks.
func (m *momentSegment) speaker(value string) (*roaring.Bitmap, error) {
	keys, err := m.v.personKeys(keySpeaker, value)
	if err != nil {
		return nil, err
	}
	return m.any(fieldKeys, keys)
}

// ofMeeting is the set of a meeting's moments.
func (m *momentSegment) ofMeeting(id int64) (*roaring.Bitmap, error) {
	return postings(m.seg, fieldKeys, keyMeeting+strconv.FormatInt(id, 10))
}
