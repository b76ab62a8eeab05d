package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"minutebook/search/segment"
	"minutebook/search/text"
)

// view is what one search sees: both indexes as they were at one instant,
// narrowed to what the viewer may see.
type view struct {
	ctx      context.Context
	x        *Index
	now      time.Time
	loc      *time.Location
	format   int // of both indexes
	meetings *scorch.IndexSnapshot
	moments  *scorch.IndexSnapshot
	segments []*scorch.SegmentSnapshot // of meetings
	lexicons []*segment.TermReader     // of segments
	spoken   []*momentSegment          // of moments
	columns  []*columns                // of segments
	visible  docset
	count    int // visible meetings

	everything bool     // the viewer sees everything, else
	crmOf      []string // whose CRM matches

	words    int // mean length of all meetings
	langs    []*text.Language
	forms    map[formKey][]form
	speakers map[string][]string // keys of voices by what was asked for
	unread   int                 // entries that may still be read to check phrases
	inexact  bool                // some were not
	negated  bool                // the node being evaluated stands under a minus
	release  func()
}

// docset is a set of meetings: a bitmap of document numbers per segment.
type docset []*roaring.Bitmap

// view takes a snapshot for a viewer. The caller closes it.
func (x *Index) view(ctx context.Context, r Request) (_ *view, err error) {
	x.mu.RLock()
	if x.closed {
		x.mu.RUnlock()
		return nil, ErrClosed
	}
	g := x.serving
	if !g.current() && !r.Viewer.All && x.next != nil {
		g = x.next // what a person may see may have changed since the old one was written
	}
	done, ok := g.use()
	x.mu.RUnlock()
	if !ok {
		return nil, ErrClosed
	}
	v := &view{ctx: ctx, x: x, now: x.now(), loc: r.Location, forms: map[formKey][]form{}, speakers: map[string][]string{}, unread: mostRead}
	v.release, v.format = done, g.format
	whole := false
	defer func() {
		if !whole { // also when damaged files end it with a panic
			v.close()
		}
	}()
	if v.loc == nil {
		v.loc = time.UTC
	}
	if v.meetings, err = g.meetings.snapshot(); err != nil {
		return nil, err
	}
	if v.moments, err = g.moments.snapshot(); err != nil {
		return nil, err
	}
	v.segments = v.meetings.Segments()
	for _, seg := range v.segments {
		v.lexicons = append(v.lexicons, segment.NewTermReader(seg))
	}
	for _, seg := range v.moments.Segments() {
		v.spoken = append(v.spoken, &momentSegment{v, seg, segment.NewTermReader(seg)})
	}
	if v.columns, err = x.columns.of(g.meetings, v.meetings); err != nil {
		return nil, err
	}
	if err := v.narrow(r); err != nil {
		return nil, err
	}
	whole = true
	return v, nil
}

// close gives the snapshots back.
func (v *view) close() error {
	var errs []error
	for _, s := range []*scorch.IndexSnapshot{v.meetings, v.moments} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	v.release()
	return errors.Join(errs...)
}

// narrow finds what the viewer may see, and the languages of the meetings.
func (v *view) narrow(r Request) error {
	v.visible = v.each(func(i int) *roaring.Bitmap { return living(v.segments[i]) })
	v.everything = r.Viewer.All
	if !r.Viewer.All {
		var err error
		if v.crmOf, err = v.x.archive.CRMPrincipals(v.ctx, r.Viewer); err != nil {
			return fmt.Errorf("find whose crm matches %s may see: %w", r.Viewer.Email, err)
		}
		principals, err := v.x.archive.ViewerPrincipals(v.ctx, r.Viewer)
		if err != nil {
			return fmt.Errorf("find what %s may see: %w", r.Viewer.Email, err)
		}
		var keys []string
		for _, p := range principals {
			keys = append(keys, keySees+p)
		}
		seen, err := v.withKeys(keys...)
		if err != nil {
			return err
		}
		v.visible = seen
	}
	v.count = v.visible.size()
	var words int64
	living := 0
	codes := map[string]bool{}
	for i, cols := range v.columns {
		sum := cols.sumOf(v.segments[i])
		words += sum.words
		living += sum.meetings
		for code := range sum.languages {
			codes[v.x.columns.name(code)] = true
		}
	}
	v.words = int(words/int64(max(living, 1))) + 1
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		v.langs = append(v.langs, v.x.langs.Get(code))
	}
	return nil
}

func (v *view) each(of func(i int) *roaring.Bitmap) docset {
	out := make(docset, len(v.segments))
	for i := range out {
		out[i] = of(i)
	}
	return out
}

func (v *view) none() docset { return v.each(func(int) *roaring.Bitmap { return roaring.New() }) }

// all is a copy of the visible meetings.
func (v *view) all() docset {
	return v.each(func(i int) *roaring.Bitmap { return v.visible[i].Clone() })
}

// withKeys is the set of visible meetings that have one of the keys.
func (v *view) withKeys(keys ...string) (docset, error) {
	return v.withTerms(segment.FieldKeys, keys...)
}

// withTerms is the set of visible meetings that have one of the terms in a
// field.
func (v *view) withTerms(field string, terms ...string) (docset, error) {
	return v.withAny(map[string][]string{field: terms})
}

// withAny is the set of visible meetings that have one of the terms of a field
// in it.
func (v *view) withAny(terms map[string][]string) (docset, error) {
	out := v.none()
	return out, v.beside(len(out), func(i int) error {
		for field, list := range terms {
			for _, t := range list {
				c, err := v.lexicons[i].Postings(field, t)
				if err != nil {
					return err
				}
				if c.Docs != nil {
					out[i].Or(c.Docs)
				}
			}
		}
		out[i].And(v.visible[i])
		return nil
	})
}

// where is the set of visible meetings of which keep says yes.
func (v *view) where(keep func(cols *columns, doc uint32) bool) docset {
	out := v.none()
	for i, docs := range v.visible {
		for it := docs.Iterator(); it.HasNext(); {
			if doc := it.Next(); keep(v.columns[i], doc) {
				out[i].Add(doc)
			}
		}
	}
	return out
}

func (d docset) and(o docset) docset {
	for i := range d {
		d[i].And(o[i])
	}
	return d
}

func (d docset) or(o docset) docset {
	for i := range d {
		d[i].Or(o[i])
	}
	return d
}

func (d docset) without(o docset) docset {
	for i := range d {
		d[i].AndNot(o[i])
	}
	return d
}

func (d docset) size() int {
	n := 0
	for _, docs := range d {
		n += int(docs.GetCardinality())
	}
	return n
}

// addMeeting adds the visible meeting of that id to the set, if there is one.
func (v *view) addMeeting(d docset, id int64) {
	if i, doc, ok := v.place(id); ok {
		d[i].Add(doc)
	}
}

// dropMeeting takes a meeting out of the set.
func (v *view) dropMeeting(d docset, id int64) {
	if i, doc, ok := v.place(id); ok {
		d[i].Remove(doc)
	}
}

// hasMeeting says whether a visible meeting is in the set.
func (v *view) hasMeeting(d docset, id int64) bool {
	i, doc, ok := v.place(id)
	return ok && d[i].Contains(doc)
}

// place is the segment and the document of a visible meeting.
func (v *view) place(id int64) (segment int, doc uint32, ok bool) {
	for i, cols := range v.columns {
		if doc, ok := cols.byID[id]; ok && v.visible[i].Contains(doc) {
			return i, doc, true
		}
	}
	return 0, 0, false
}
