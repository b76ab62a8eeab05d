package search

import (
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// snapshot is the index as one search sees it: both Bleve indexes at one instant,
// narrowed to the meetings that the viewer may see. Once opened it shows the same
// meetings until it is closed. Its term readers keep the dictionaries they have read, so
// only one goroutine at a time may use a segment.
type snapshot struct {
	ctx     context.Context // of the search
	x       *Index
	release func() // gives the generation back

	format   int // of both indexes
	meetings *scorch.IndexSnapshot
	moments  *scorch.IndexSnapshot
	segments []*meetingSegment
	spoken   []*momentSegment

	visibleCount int                           // meetings that the viewer may see
	seesAll      bool                          // the viewer sees all meetings and all CRM matches
	viewer       archive.Viewer                // otherwise: the viewer
	principals   []string                      // and those of the viewer, see archive.ViewerPrincipals
	addresses    []addressRights               // and each of the viewer's addresses by itself
	notes        NotesFunc                     // of the request
	samePerson   SamePersonFunc                // likewise
	whole        bool                          // likewise: Request.Whole
	within       int64                         // likewise: Request.Within
	remarks      map[string]map[int64][]Moment // the notes found, by the value of note: and meeting
	people       []int                         // visible meetings, by the number of a name; nil: not counted
	langs        []*text.Language              // of the visible meetings
	spokenIn     map[string]int                // how many of them, by the code of each language
}

// meetingSegment is one segment of the meetings' index.
type meetingSegment struct {
	seg     *scorch.SegmentSnapshot
	terms   *segment.TermReader
	columns *columns
	visible *roaring.Bitmap // documents that the viewer may see
}

// addressRights are the rights that one of the viewer's addresses gives.
type addressRights struct {
	seen meetingSet // the meetings that the address sees
	crm  []string   // the principals whose CRM matches it sees, see archive.CRMPrincipals
}

// openSnapshot takes a snapshot for a viewer. The caller closes it.
func (x *Index) openSnapshot(ctx context.Context, viewer archive.Viewer) (_ *snapshot, err error) {
	g, release, err := x.useGeneration(viewer)
	if err != nil {
		return nil, err
	}
	s := &snapshot{ctx: ctx, x: x, release: release, format: g.format, seesAll: viewer.All}
	opened := false
	defer func() {
		if !opened { // also when damaged files end it with a panic
			s.close()
		}
	}()
	reached := g.position() // the snapshots hold the change log up to there, or more
	if s.meetings, err = g.meetings.snapshot(); err != nil {
		return nil, err
	}
	if s.moments, err = g.moments.snapshot(); err != nil {
		return nil, err
	}
	columns, err := x.columns.columnsOf(g.meetings, s.meetings)
	if err != nil {
		return nil, err
	}
	for i, seg := range s.meetings.Segments() {
		s.segments = append(s.segments, &meetingSegment{seg, segment.NewTermReader(seg), columns[i], livingDocuments(seg)})
	}
	for _, seg := range s.moments.Segments() {
		s.spoken = append(s.spoken, &momentSegment{seg, segment.NewTermReader(seg)})
	}
	if err := s.restrictTo(viewer, reached); err != nil {
		return nil, err
	}
	s.addUp()
	opened = true
	return s, nil
}

// useGeneration returns the generation that answers a viewer, and a function that
// gives it back.
func (x *Index) useGeneration(viewer archive.Viewer) (*generation, func(), error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, nil, ErrClosed
	}
	g := x.answering(viewer)
	release, ok := g.use()
	if !ok {
		return nil, nil, ErrClosed
	}
	return g, release, nil
}

// answering returns the generation that answers a viewer. The caller holds mu.
func (x *Index) answering(viewer archive.Viewer) *generation {
	if !x.serving.isCurrent() && !viewer.All && x.next != nil {
		return x.next // rights may have changed since the old one was written
	}
	return x.serving
}

// Reached returns the position up to which the index that answers a viewer has all changes;
// ok is false while that is being built, and lacks meetings.
func (x *Index) Reached(viewer archive.Viewer) (at archive.Position, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	g := x.answering(viewer)
	return g.position(), g.isBuilt() && !x.closed
}

// close gives the snapshots of both indexes back.
func (s *snapshot) close() error {
	var errs []error
	for _, snap := range []*scorch.IndexSnapshot{s.meetings, s.moments} {
		if snap != nil {
			errs = append(errs, snap.Close())
		}
	}
	s.release()
	return errors.Join(errs...)
}

// addUp counts the visible meetings, and finds their languages: those of hidden ones would
// tell of these by how a query is read.
func (s *snapshot) addUp() {
	s.spokenIn = map[string]int{}
	for _, m := range s.segments {
		s.visibleCount += int(m.visible.GetCardinality())
		for code, meetings := range s.languagesOf(m) {
			s.spokenIn[s.x.columns.valueOf(code)] += meetings
		}
	}
	for _, code := range slices.Sorted(maps.Keys(s.spokenIn)) {
		s.langs = append(s.langs, s.x.langs.Get(code))
	}
}

// languagesOf returns how many of a segment's visible meetings are in each language, by the
// numbers of strings.
func (s *snapshot) languagesOf(m *meetingSegment) map[uint32]int {
	if s.seesAll {
		return m.columns.sumsOf(m.seg).languages
	}
	languages := map[uint32]int{}
	eachDocument(m.visible, func(doc uint32) { languages[m.columns.single[singleLanguage][doc]]++ })
	return languages
}

// meanWords returns the mean length of the visible meetings: scores, which stand in places
// of the results, tell nothing of hidden ones.
func (s *snapshot) meanWords() float64 {
	var words int64
	meetings := 0
	for _, m := range s.segments {
		if s.seesAll {
			sums := m.columns.sumsOf(m.seg)
			words += sums.words
			meetings += sums.meetings
			continue
		}
		eachDocument(m.visible, func(doc uint32) { words += int64(m.columns.words[doc]) })
		meetings += int(m.visible.GetCardinality())
	}
	return float64(words/int64(max(meetings, 1)) + 1)
}

// isStopWord reports whether a word is a stop word in one of the languages of the visible
// meetings, and so may be missing in the text of their moments.
func (s *snapshot) isStopWord(term string) bool {
	return slices.ContainsFunc(s.langs, func(l *text.Language) bool { return l.StopWords[term] })
}

// stopWordsWith lists the stop words of the languages of the visible meetings that begin so.
func (s *snapshot) stopWordsWith(begin string) (words []string) {
	for _, lang := range s.langs {
		for word := range lang.StopWords {
			if strings.HasPrefix(word, begin) {
				words = append(words, word)
			}
		}
	}
	return words
}

// isInMoments reports whether the text of all moments has a word of a phrase where it is said:
// stop words are left out, one character may be the edge of a run, and with a star behind it a
// term is no word.
func (s *snapshot) isInMoments(term string) bool {
	return !s.isStopWord(term) && !text.IsUnspacedCharacter(term) && !strings.HasSuffix(term, "*")
}

// place returns the segment and the document of a visible meeting.
func (s *snapshot) place(id int64) (i int, doc uint32, ok bool) {
	for i, m := range s.segments {
		if doc, ok := m.columns.places.find(id); ok && m.visible.Contains(doc) {
			return i, doc, true
		}
	}
	return 0, 0, false
}

// parallel calls fn for the numbers below n on as many goroutines as the machine
// has processors. It returns when all have ended, with the first error. It begins
// no number after an error or the end of the context. A panic, as damaged files
// cause it, becomes [segment.ErrDamaged].
func (s *snapshot) parallel(n int, fn func(i int) error) error {
	work, ctx := errgroup.WithContext(s.ctx)
	work.SetLimit(s.x.workers)
	for i := range n {
		work.Go(func() error {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.x.recoverDamage(func() error { return fn(i) })
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	return s.ctx.Err()
}
