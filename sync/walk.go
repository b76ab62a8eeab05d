package syncer

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/guard"
)

// maxRestarts is how often one window is begun again before the walk gives up
// until its next run. A service that refuses every cursor is not asked for
// ever.
const maxRestarts = 6

// walk makes a whole walk, or resumes one that was interrupted, and returns its
// state after the last page. It reads several windows at a time. After an error
// all applied pages stay, and the next walk of the same kind resumes behind
// them.
func (s *Syncer) walk(ctx context.Context, o walkSpec, t *runStats) (walkState, error) {
	c, windows, err := s.openWalk(ctx, o, t)
	if err != nil {
		return walkState{}, s.walkError(o, err)
	}
	o.reread = c.Again
	numbers := new(atomic.Int64)
	for _, w := range windows {
		numbers.Store(max(numbers.Load(), int64(w.N)))
	}
	t.addWindows(len(windows))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opt.Cursors)
	for _, w := range windows {
		g.Go(func() error {
			if gctx.Err() != nil {
				return gctx.Err()
			}
			return guard.Run(s.log, "walk of "+o.account.Name, func() error { return s.readWindow(gctx, o, w, numbers, t) })
		})
	}
	if err := g.Wait(); err != nil {
		return walkState{}, s.walkError(o, err)
	}
	return s.closeWalk(ctx, o, c)
}

// walkError adds the walk and its account to an error.
func (s *Syncer) walkError(o walkSpec, err error) error {
	return fmt.Errorf("walk %s (%s) of account %s: %w", describeList(o.list), o.kind, o.account.Name, err)
}

// readWindow reads a window to its end. Each page is applied together with the
// window's new cursor. If the service refuses a cursor, only this window is
// begun again.
func (s *Syncer) readWindow(ctx context.Context, o walkSpec, w window, numbers *atomic.Int64, t *runStats) error {
	for todo := []window{w}; len(todo) > 0; {
		w, todo = todo[0], todo[1:]
		listed := newProgress()
		for !w.Done {
			next, err := s.readPage(ctx, o, w, listed, t)
			if err == nil {
				w = next
				continue
			}
			if !api.IsCursorRefused(err) || w.Cursor == "" || w.Restarts >= maxRestarts {
				return err
			}
			parts, err := s.restartWindow(ctx, o, w, numbers)
			if err != nil {
				return err
			}
			w, todo, listed = parts[0], append(todo, parts[1:]...), newProgress()
		}
		t.finishWindow()
	}
	return nil
}

// restartWindow replaces a window whose cursor was refused and saves its
// successors.
func (s *Syncer) restartWindow(ctx context.Context, o walkSpec, w window, numbers *atomic.Int64) ([]window, error) {
	s.log.Info().Str("account", o.account.Name).Str("walk", o.kind).Int("pages", w.Pages).Int("restarts", w.Restarts+1).
		Msg("cursor refused: this window is read again")
	parts := w.restarted(int(numbers.Add(1)), s.now())
	var marks []archive.Mark
	for _, p := range parts {
		marks = append(marks, newMark(windowKey(o.key(), p.N), p))
	}
	return parts, s.archive.SetMarks(ctx, marks...)
}

// readPage reads and applies the next page of a window and returns the window
// after it.
func (s *Syncer) readPage(ctx context.Context, o walkSpec, w window, listed *progress, t *runStats) (window, error) {
	after, before := w.bounds()
	page, err := s.fetchPage(ctx, o, after, before, w.Cursor)
	if err != nil {
		return w, err
	}
	next, err := w.advanced(page.NextCursor)
	if err != nil {
		return w, err
	}
	if err := listed.note(page); err != nil && !next.Done {
		return w, err
	}
	if w.Pages == 0 {
		next.Asked = page.askedAt()
	}
	err = s.applyPage(ctx, page, t, func() archive.Mark {
		next.Unreadable = w.Unreadable + page.unreadable
		return newMark(windowKey(o.key(), w.N), next)
	})
	return next, err
}
