package search

import (
	"github.com/RoaringBitmap/roaring/v2"

	"minutebook/search/segment"
)

// meetingSet is a set of meetings of a snapshot: for each segment a bitmap of its
// documents.
type meetingSet []*roaring.Bitmap

// empty returns a new set without meetings.
func (s *snapshot) empty() meetingSet {
	out := make(meetingSet, len(s.segments))
	for i := range out {
		out[i] = roaring.New()
	}
	return out
}

// visible returns a new set of all visible meetings.
func (s *snapshot) visible() meetingSet {
	out := make(meetingSet, len(s.segments))
	for i, m := range s.segments {
		out[i] = m.visible.Clone()
	}
	return out
}

// withKeys finds the visible meetings that have one of the keys.
func (s *snapshot) withKeys(keys ...string) (meetingSet, error) {
	return s.withTerms(segment.FieldKeys, keys...)
}

// withTerms finds the visible meetings that have one of the terms in a field.
func (s *snapshot) withTerms(field string, terms ...string) (meetingSet, error) {
	return s.withFields(map[string][]string{field: terms})
}

// withFields finds the visible meetings that have one of a field's terms in it.
func (s *snapshot) withFields(terms map[string][]string) (meetingSet, error) {
	out := s.empty()
	return out, s.parallel(len(out), func(i int) error {
		for field, list := range terms {
			for _, t := range list {
				postings, err := s.segments[i].terms.Postings(field, t)
				if err != nil {
					return err
				}
				if postings.Docs != nil {
					out[i].Or(postings.Docs)
				}
			}
		}
		out[i].And(s.segments[i].visible)
		return nil
	})
}

// withFieldBeginning finds the visible meetings that have a term in a field with a beginning.
func (s *snapshot) withFieldBeginning(field, begin string) (meetingSet, error) {
	out := s.empty()
	return out, s.parallel(len(out), func(i int) (err error) {
		out[i], err = s.segments[i].terms.Beginning(s.ctx, field, begin, s.segments[i].visible)
		return err
	})
}

// filterVisible finds the visible meetings that keep accepts.
func (s *snapshot) filterVisible(keep func(c *columns, doc uint32) bool) meetingSet {
	out := s.empty()
	for i, m := range s.segments {
		eachDocument(m.visible, func(doc uint32) {
			if keep(m.columns, doc) {
				out[i].Add(doc)
			}
		})
	}
	return out
}

// eachDocument calls fn for all documents of a bitmap, in order.
func eachDocument(docs *roaring.Bitmap, fn func(doc uint32)) {
	it := docs.ManyIterator()
	var buf [512]uint32
	for n := it.NextMany(buf[:]); n > 0; n = it.NextMany(buf[:]) {
		for _, doc := range buf[:n] {
			fn(doc)
		}
	}
}

// and, or and andNot change the set and return it.
func (d meetingSet) and(o meetingSet) meetingSet {
	for i := range d {
		d[i].And(o[i])
	}
	return d
}

func (d meetingSet) or(o meetingSet) meetingSet {
	for i := range d {
		d[i].Or(o[i])
	}
	return d
}

func (d meetingSet) andNot(o meetingSet) meetingSet {
	for i := range d {
		d[i].AndNot(o[i])
	}
	return d
}

func (d meetingSet) clone() meetingSet {
	out := make(meetingSet, len(d))
	for i, docs := range d {
		out[i] = docs.Clone()
	}
	return out
}

func (d meetingSet) size() int {
	n := 0
	for _, docs := range d {
		n += int(docs.GetCardinality())
	}
	return n
}

// addMeeting adds the visible meeting of that id to the set, if there is one.
func (s *snapshot) addMeeting(d meetingSet, id int64) {
	if i, doc, ok := s.place(id); ok {
		d[i].Add(doc)
	}
}

// removeMeeting takes a meeting out of the set.
func (s *snapshot) removeMeeting(d meetingSet, id int64) {
	if i, doc, ok := s.place(id); ok {
		d[i].Remove(doc)
	}
}

// hasMeeting reports whether a visible meeting is in the set.
func (s *snapshot) hasMeeting(d meetingSet, id int64) bool {
	i, doc, ok := s.place(id)
	return ok && d[i].Contains(doc)
}
