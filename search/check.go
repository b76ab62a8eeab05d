package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	segmentapi "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"golang.org/x/sys/unix"

	"minutebook/archive"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// sampleSize is how many meetings a check looks up by their words, and maxLookedUp is how long a
// word may be in bytes: a query has an end.
const (
	sampleSize  = 24
	maxLookedUp = 1024
)

// errUnsound is returned by [Index.Check] for an index that does not hold the
// archive's words, or whose files are damaged.
var errUnsound = errors.New("the search index is not sound")

// Check reads every file of the index and compares it with its checksum, and
// looks up words of a sample of meetings that must be found. When something is
// wrong it fails with errUnsound, and the next CatchUp builds the index anew.
// It is meant for a caught-up index; meetings that arrive meanwhile are not
// held against it.
func (x *Index) Check(ctx context.Context) error {
	err := x.checkFiles(ctx)
	if err == nil {
		err = x.checkSample(ctx)
	}
	if errors.Is(err, errUnsound) {
		x.requestRebuild(err)
	}
	return err
}

// checkFiles compares the segments' files with their checksums. Bleve does so
// neither when it opens nor when it reads them.
func (x *Index) checkFiles(ctx context.Context) error {
	return x.eachStore(func(s *store) error { return s.checkSegments(ctx) })
}

// eachStore calls do for the stores of the generation that answers, until it fails.
func (x *Index) eachStore(do func(*store) error) error {
	x.mu.RLock()
	g, closed := x.serving, x.closed
	x.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	done, ok := g.use()
	if !ok {
		return nil
	}
	defer done()
	for _, s := range []*store{g.meetings, g.moments} {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

// checkSegments checks the files of the segments that are there now. One that
// is merged into another meanwhile, and its file removed, is passed over.
func (s *store) checkSegments(ctx context.Context) error {
	paths, err := s.segmentPaths()
	if err != nil {
		return err
	}
	for path := range paths {
		err := segment.CheckFile(ctx, path)
		if errors.Is(err, os.ErrNotExist) {
			now, nerr := s.segmentPaths()
			if nerr != nil {
				return nerr
			}
			if !now[path] {
				continue
			}
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("%w: %w", errUnsound, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// segmentPaths lists the files of the current segments.
func (s *store) segmentPaths() (map[string]bool, error) {
	snap, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	paths := map[string]bool{}
	for _, seg := range snap.Segments() {
		if p, ok := seg.Segment().(segmentapi.PersistedSegment); ok {
			paths[p.Path()] = true
		}
	}
	return paths, nil
}

// checkSample looks up words of the newest meetings.
func (x *Index) checkSample(ctx context.Context) error {
	if x.Progress().Rebuilding {
		return nil
	}
	rows, err := x.archive.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true, Limit: sampleSize * 8})
	if err != nil {
		return err
	}
	before := x.position()
	for i := 0; i < len(rows); i += 8 {
		bad := x.checkMeeting(ctx, rows[i].RecordingID)
		if bad == nil {
			continue
		}
		// The meeting that was read may be newer than the index, and newer than Head.
		if now, err := x.archive.Written(ctx); err != nil || now != before {
			return err
		}
		return bad
	}
	return nil
}

// checkMeeting looks up a meeting by its number and its longest word.
func (x *Index) checkMeeting(ctx context.Context, id int64) error {
	s, err := readSource(ctx, x.archive, id)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	word, longest := "", 0
	for _, e := range s.entries {
		for _, t := range text.Tokenize(e.Text) {
			if len(t.Term) > longest && !t.Joined && t.End-t.Start <= maxLookedUp {
				// As it was said: folding changes some words (½) into others that are cut differently.
				word, longest = e.Text[t.Start:t.End], len(t.Term)
			}
		}
	}
	q := fmt.Sprintf("id:%d", id)
	if word != "" {
		q += ` in:transcript "` + word + `"`
	}
	a, err := x.Search(ctx, Request{Query: q, Viewer: archive.Viewer{All: true}, Limit: 1})
	if err != nil {
		return err
	}
	if a.Total != 1 || word != "" && (len(a.Meetings) != 1 || len(a.Meetings[0].Moments) == 0) {
		return fmt.Errorf("%w: meeting %d is not found by its own words", errUnsound, id)
	}
	return nil
}

// ReleasePages takes the pages of the index's files out of the program's memory. They stay
// in the system's cache of files, from which the next search has them again.
func (x *Index) ReleasePages() error { return x.eachStore((*store).releasePages) }

func (s *store) releasePages() error {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	for _, seg := range snap.Segments() {
		// Only a file is mapped, so that its pages can be read again.
		if file, ok := seg.Segment().(*zap.Segment); ok && len(file.Data()) > 0 {
			if err := unix.Madvise(file.Data(), unix.MADV_DONTNEED); err != nil {
				return fmt.Errorf("release the pages of %s: %w", filepath.Base(file.Path()), err)
			}
		}
	}
	return nil
}
