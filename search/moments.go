package search

import (
	"fmt"
	"strconv"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/archive"
	"minutebook/search/segment"
)

// entryRange is a moment: the entries [From,To) of a transcript, about a minute of
// talk, cut at entries' borders.
type entryRange struct{ From, To int }

// Bounds of a moment. One long entry is a moment of its own, whatever its
// length: an entry is never cut.
const (
	momentLength = 60 * time.Second
	momentBytes  = 1600
)

// cutMoments divides a transcript into moments. Every entry is in exactly one.
func cutMoments(entries []archive.Entry) []entryRange {
	var out []entryRange
	from, bytes := 0, 0
	for i, e := range entries {
		if i > from && (e.Offset-entries[from].Offset >= momentLength || e.Offset < entries[i-1].Offset || bytes+len(e.Text) > momentBytes) {
			out = append(out, entryRange{from, i})
			from, bytes = i, 0
		}
		bytes += len(e.Text)
	}
	if from < len(entries) {
		out = append(out, entryRange{from, len(entries)})
	}
	return out
}

// momentSegment is one segment of the moments' index.
type momentSegment struct {
	seg   *scorch.SegmentSnapshot
	terms *segment.TermReader
}

// withMoments returns the visible meetings with at least one of the moments that
// find returns of each segment.
func (s *snapshot) withMoments(find func(*momentSegment) (*roaring.Bitmap, error)) (meetingSet, error) {
	moments := make([]*roaring.Bitmap, len(s.spoken))
	for i, m := range s.spoken {
		var err error
		if moments[i], err = find(m); err != nil {
			return nil, err
		}
	}
	return s.inMeetings(moments)
}

// inMeetings returns the visible meetings with at least one of some moments, by segment.
func (s *snapshot) inMeetings(moments []*roaring.Bitmap) (meetingSet, error) {
	out := s.empty()
	for i, m := range s.spoken {
		last := int64(-1)
		for it := moments[i].Iterator(); it.HasNext(); {
			name, err := m.seg.DocID(uint64(it.Next()))
			if err != nil {
				return nil, fmt.Errorf("read search index: %w", err)
			}
			if id := meetingOfMoment(name); id != last {
				s.addMeeting(out, id)
				last = id
			}
		}
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// meetingOfMoment reads the meeting that a moment's name begins with.
func meetingOfMoment(name []byte) int64 {
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

// withAny finds the moments that have one of the terms in a field.
func (m *momentSegment) withAny(field string, terms []string) (*roaring.Bitmap, error) {
	out := roaring.New()
	for _, t := range terms {
		docs, err := m.terms.Documents(field, t)
		if err != nil {
			return nil, err
		}
		out.Or(docs)
	}
	return out, nil
}

// spokenBy finds the moments in which all the speakers speak, of which there is
// at least one.
func (m *momentSegment) spokenBy(speakers []speaker) (*roaring.Bitmap, error) {
	var out *roaring.Bitmap
	for _, s := range speakers {
		docs, err := m.withAny(segment.FieldKeys, s.keys)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = docs
			continue
		}
		out.And(docs)
	}
	return out, nil
}

// ofMeeting finds the moments of a meeting.
func (m *momentSegment) ofMeeting(id int64) (*roaring.Bitmap, error) {
	return m.terms.Documents(segment.FieldKeys, keyMeeting+strconv.FormatInt(id, 10))
}
