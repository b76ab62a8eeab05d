package search

import (
	"fmt"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/search/segment"
)

// momentSegment is one segment of the moments' index.
type momentSegment struct {
	v     *view
	seg   *scorch.SegmentSnapshot
	words *segment.TermReader
}

// inMoments finds the visible meetings that have a moment of which what says
// that it matches.
func (v *view) inMoments(what func(*momentSegment) (*roaring.Bitmap, error)) (docset, error) {
	out := v.none()
	for _, m := range v.spoken {
		docs, err := what(m)
		if err != nil {
			return nil, err
		}
		last := int64(-1)
		for it := docs.Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
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
		docs, err := m.words.Documents(field, t)
		if err != nil {
			return nil, err
		}
		out.Or(docs)
	}
	return out, nil
}

// phrase is the set of moments, of those within, that have all the words of a
// phrase but stop words. It is for ranking: whether they follow one another is
// seen when the moment is quoted. A phrase of stop words only is nowhere.
func (m *momentSegment) phrase(terms []string, within *roaring.Bitmap) (*roaring.Bitmap, error) {
	var out *roaring.Bitmap
	for _, t := range terms {
		if m.v.isStop(t) {
			continue
		}
		docs, err := m.words.Documents(segment.FieldText, t)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = roaring.And(within, docs)
			continue
		}
		out.And(docs)
	}
	if out == nil {
		return roaring.New(), nil
	}
	return out, nil
}

// speaker is the set of moments in which a speaker speaks.
func (m *momentSegment) speaker(value string) (*roaring.Bitmap, error) {
	voices, err := m.v.voices(value)
	if err != nil {
		return nil, err
	}
	return m.any(segment.FieldKeys, voices)
}

// ofMeeting is the set of a meeting's moments.
func (m *momentSegment) ofMeeting(id int64) (*roaring.Bitmap, error) {
	return m.words.Documents(segment.FieldKeys, keyMeeting+strconv.FormatInt(id, 10))
}
