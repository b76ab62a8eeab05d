package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/index/scorch/mergeplan"
	segmentapi "github.com/blevesearch/scorch_segment_api/v2"

	"minutebook/archive"
	"minutebook/search/segment"
)

// How long the files of segments that were written again are waited for: they
// go when no search reads them any more.
const (
	expungeTries = 100
	expungePause = 100 * time.Millisecond
)

// expungeRounds is how often segments are written again: the merge planner
// leaves an only segment alone, so that a second one is made for the next round.
const expungeRounds = 3

// forget has no file of the index hold anything of a meeting that the archive
// has forgotten: a document that is deleted stays in its segment until that is
// written again, so it is written again here. The archive calls it, see
// archive.OnForget. Where that does not help, the index is built anew. It fails
// with ErrClosed on a closed index, whose files it cannot speak for.
func (x *Index) forget(ctx context.Context, _ int64) error {
	if err := x.CatchUp(ctx); err != nil {
		return fmt.Errorf("forget a meeting in the search index: %w", err)
	}
	clean, err := x.expunge(ctx)
	if err != nil || clean {
		return err
	}
	x.requestRebuild(errors.New("a forgotten meeting is still in its files"))
	if err := x.CatchUp(ctx); err != nil {
		return err
	}
	if x.isPostponed() {
		return fmt.Errorf("forget a meeting in the search index: it must be built anew: %w: make room", errNoRoom)
	}
	return nil
}

// expunge writes the segments with deleted documents again. It returns false
// when some still have any, or their old files stay.
func (x *Index) expunge(ctx context.Context) (clean bool, err error) {
	if err := x.lockWork(ctx, "forget a meeting in the search index"); err != nil {
		return false, err
	}
	defer x.unlockWork()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	g, _, err := x.currentGenerations()
	if err != nil {
		return false, err
	}
	for range expungeRounds {
		clean = true
		for _, s := range []*store{g.moments, g.meetings} {
			done, err := s.expunge(ctx)
			if err != nil {
				return false, err
			}
			clean = clean && done
		}
		if clean {
			return true, nil
		}
		if err := x.rewriteNewest(ctx, g); err != nil {
			return false, err
		}
	}
	return false, nil
}

// rewriteNewest indexes the newest meeting again, which makes a second segment where
// there is only one.
func (x *Index) rewriteNewest(ctx context.Context, g *generation) error {
	rows, err := x.archive.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true, Limit: 1})
	if err != nil || len(rows) == 0 {
		return err
	}
	return x.indexMeetings(ctx, g, []int64{rows[0].RecordingID}, func(st state) state { return st })
}

// rewriteDeleted has the merge planner write every segment that has deleted
// documents again, alone, and no other.
var rewriteDeleted = mergeplan.MergePlanOptions{
	MaxSegmentsPerTier:   1,
	MaxSegmentSize:       mergeplan.MaxSegmentSizeLimit,
	MaxSegmentFileSize:   1 << 50,
	TierGrowth:           1,
	SegmentsPerMergeTask: 1,
	FloorSegmentSize:     1,
	CalcBudget:           func(int64, int64, *mergeplan.MergePlanOptions) int { return 0 },
}

// expunge is Index.expunge for one index.
func (s *store) expunge(ctx context.Context) (clean bool, err error) {
	defer segment.RecoverDamage("merge", s.path, &err)
	if err := s.flush(ctx); err != nil {
		return false, err
	}
	left, err := s.leftovers()
	if err != nil || left == nothingLeft {
		return err == nil, err
	}
	adv, err := s.index.Advanced()
	if err != nil {
		return false, fmt.Errorf("read search index: %w", err)
	}
	if idx, ok := adv.(*scorch.Scorch); ok && left == deletedLeft {
		options := rewriteDeleted
		if err := idx.ForceMerge(ctx, &options); err != nil {
			return false, fmt.Errorf("merge search index %s: %w", filepath.Base(s.path), err)
		}
		if left, err = s.leftovers(); err != nil || left == deletedLeft {
			return false, err
		}
	}
	for try := 0; left != nothingLeft && try < expungeTries; try++ {
		if err := s.flush(ctx); err != nil { // old files go after a write
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(expungePause):
		}
		if left, err = s.leftovers(); err != nil {
			return false, err
		}
	}
	return left == nothingLeft, nil
}

// leftover is the worst that an index still has of deleted documents.
type leftover int

const (
	nothingLeft leftover = iota
	filesLeft            // files that no current segment is in
	deletedLeft          // segments with deleted documents
)

// leftovers looks at the index as it is now and at its folder.
func (s *store) leftovers() (leftover, error) {
	snap, err := s.snapshot()
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	current := map[string]bool{}
	for _, seg := range snap.Segments() {
		if deleted := seg.Deleted(); deleted != nil && !deleted.IsEmpty() {
			return deletedLeft, nil
		}
		if p, ok := seg.Segment().(segmentapi.PersistedSegment); ok {
			current[filepath.Base(p.Path())] = true
		}
	}
	dir := filepath.Join(s.path, "store")
	files, err := fs.Glob(os.DirFS(dir), "*.zap")
	if err != nil {
		return 0, err
	}
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil && !current[name] {
			return filesLeft, nil
		}
	}
	return nothingLeft, nil
}
