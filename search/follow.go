package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"minutebook/archive"
	"minutebook/internal/diskspace"
	"minutebook/internal/durable"
	"minutebook/search/segment"
)

// Sizes of batches: small where the index follows the archive, larger where it is
// built, since then fewer words are written twice. Still larger ones
// cost memory and are hardly faster.
const (
	batchMeetings = 32
	batchChanges  = 1024
	buildMeetings = 100
)

// retryAfter is how long Follow waits after a failure.
const retryAfter = 2 * time.Second

// Follow keeps the index up with the archive until ctx ends, and then returns
// nil. It fails once the index or the archive is closed. Other failures are logged and
// tried again. Once it has caught up for the first time it checks the index, see Check.
func (x *Index) Follow(ctx context.Context) error {
	var checks sync.WaitGroup
	defer checks.Wait()
	first := true
	for {
		wait := x.await
		if err := x.CatchUp(ctx); err != nil && ctx.Err() == nil {
			if errors.Is(err, ErrClosed) || errors.Is(err, archive.ErrClosed) {
				return err
			}
			x.log.Error().Err(err).Msg("follow the archive into the search index")
			wait = pauseAfterFailure
		} else if first && ctx.Err() == nil {
			first = false
			checks.Go(func() { x.checkOnce(ctx) })
		}
		if err := wait(ctx, x.position()); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("follow the archive: %w", err)
		}
	}
}

// await waits for a change after at, for a request to build the indexes anew, or until ctx
// ends.
func (x *Index) await(ctx context.Context, at archive.Position) error {
	waiting, wake := context.WithCancel(ctx)
	defer wake()
	x.mu.Lock()
	switch x.wake = wake; {
	case x.rebuildWanted && x.postponed:
		defer time.AfterFunc(x.retryAt.Sub(x.now()), wake).Stop()
	case x.rebuildWanted:
		wake()
	}
	x.mu.Unlock()
	err := x.archive.WaitChange(waiting, at)
	if waiting.Err() != nil {
		return ctx.Err()
	}
	return err
}

// checkOnce checks the index and has it built anew when it is not sound.
func (x *Index) checkOnce(ctx context.Context) {
	err := x.Check(ctx)
	switch {
	case errors.Is(err, errUnsound):
		if err := x.CatchUp(ctx); err != nil && ctx.Err() == nil {
			x.log.Error().Err(err).Msg("build the search index anew")
		}
	case err != nil && ctx.Err() == nil:
		x.log.Warn().Err(err).Msg("check the search index")
	}
}

// pauseAfterFailure waits before the next try, or until ctx ends.
func pauseAfterFailure(ctx context.Context, _ archive.Position) error {
	t := time.NewTimer(retryAfter)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	return nil
}

// position returns the position of the indexes that answer.
func (x *Index) position() archive.Position {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.serving.position()
}

// CatchUp indexes everything up to the head of the change log and returns. It
// builds the index first where it is not whole. When it is interrupted the
// next call goes on where this one ended.
func (x *Index) CatchUp(ctx context.Context) error {
	if err := x.lockWork(ctx, "follow the archive into the search index"); err != nil {
		return err
	}
	defer x.unlockWork()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer x.countMeetings(ctx)
	for {
		serving, next, err := x.currentGenerations()
		if err != nil {
			return err
		}
		if next == nil && x.rebuildRequested() && !x.isPostponed() {
			if next, err = x.startNext(ctx, serving); err != nil {
				return err
			}
		}
		if next != nil {
			err := x.build(ctx, serving, next)
			if errors.Is(err, errNoRoom) {
				if err := x.postpone(next); err != nil {
					return err
				}
				continue
			}
			if errors.Is(err, segment.ErrDamaged) {
				err = x.restartNext(ctx, serving, next, err)
			}
			if err != nil {
				return err
			}
			continue
		}
		switch more, err := x.follow(ctx, serving); {
		case err != nil && x.isPostponed():
			return err
		case errors.Is(err, archive.ErrForeignEpoch), errors.Is(err, segment.ErrDamaged):
			x.requestRebuild(err)
		case err != nil:
			return err
		case !more:
			return nil
		}
	}
}

// waitNoted is how long lockWork waits before it says so in the log.
const waitNoted = 2 * time.Second

// lockWork waits until no other goroutine writes, which may build the whole index, or until
// ctx ends. The caller calls unlockWork at its end.
func (x *Index) lockWork(ctx context.Context, purpose string) error {
	select {
	case x.work <- struct{}{}:
		return nil
	default:
	}
	noted := time.AfterFunc(waitNoted, func() {
		x.log.Info().Str("doing", purpose).Msg("wait until the search index is built or written")
	})
	defer noted.Stop()
	select {
	case x.work <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: wait until it is built or written (`minutebook status`): %w", purpose, ctx.Err())
	}
}

func (x *Index) unlockWork() { <-x.work }

func (x *Index) currentGenerations() (serving, next *generation, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.closed {
		return nil, nil, ErrClosed
	}
	return x.serving, x.next, nil
}

// requestRebuild has Follow, or the next CatchUp, build the indexes anew.
func (x *Index) requestRebuild(cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if errors.Is(cause, segment.ErrDamaged) || errors.Is(cause, errUnsound) {
		x.damaged = true
	}
	if why := cause.Error(); !x.rebuildWanted && x.next == nil {
		x.rebuildWanted, x.reason = true, why
		x.wake()
		if err := durable.WriteFile(x.requestPath(), []byte(why)); err != nil { // a restart would forget it
			x.log.Warn().Err(err).Msg("note that the search index is to be built anew")
		}
		x.log.Warn().Str("reason", why).Msg("the search index will be built anew")
	}
}

func (x *Index) rebuildRequested() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.rebuildWanted
}

// startNext begins a new generation, while the old one serves. It returns nil where the disk
// has no room for as much again.
func (x *Index) startNext(ctx context.Context, serving *generation) (*generation, error) {
	if serving.isCurrent() && !x.hasRoom(diskspace.Used(serving.dir)) {
		return nil, x.postpone(nil)
	}
	head, err := x.archive.Head(ctx)
	if err != nil {
		return nil, err
	}
	g, err := createGeneration(x.dir, serving.number+1, head)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.next, x.rebuildWanted, x.postponed = g, false, false
	x.reason = strings.TrimSuffix(x.reason, noRoomSuffix)
	return g, durable.Remove(x.requestPath())
}

// requestPath is a file with the reason why the indexes are to be built anew. It is
// there from the request until the new generation is.
func (x *Index) requestPath() string { return filepath.Join(x.dir, "rebuild") }

// readRequest takes up a rebuild that was requested before the program ended. The
// generation that is being built answers it.
func (x *Index) readRequest() error {
	if x.next != nil {
		return durable.Remove(x.requestPath())
	}
	why, err := os.ReadFile(x.requestPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	x.rebuildWanted, x.reason = true, string(why)
	x.log.Info().Str("reason", x.reason).Msg("the search index will be built anew, as was requested before")
	return nil
}

// restartNext puts an empty generation in the place of one whose files were
// damaged while it was built, and pauses, since the disk may damage that too.
func (x *Index) restartNext(ctx context.Context, serving, damaged *generation, why error) error {
	head, err := x.archive.Head(ctx)
	if err != nil {
		return err
	}
	g, err := createGeneration(x.dir, max(serving.number, damaged.number)+1, head)
	if err != nil {
		return err
	}
	x.log.Warn().Err(why).Int("meetings", damaged.buildState().Walked).Msg("the search index is built anew from the beginning")
	x.mu.Lock()
	if x.serving == damaged {
		x.serving = g
	}
	x.next, x.reason = g, why.Error()
	x.mu.Unlock()
	x.columns.forgetStore(damaged.meetings)
	if err := damaged.remove(); err != nil {
		x.log.Warn().Err(err).Msg("remove a damaged search index")
	}
	return pauseAfterFailure(ctx, archive.Position{})
}

// follow indexes the next changes of the log; more is false at its head.
func (x *Index) follow(ctx context.Context, g *generation) (more bool, err error) {
	from := g.position()
	changes, err := x.archive.Changes(ctx, from, batchChanges)
	if err != nil || len(changes) == 0 {
		return false, err
	}
	for len(changes) > 0 {
		started := x.now()
		ids, used := firstMeetings(changes, x.batchSize())
		to := archive.Position{Epoch: from.Epoch, Seq: changes[used-1].Seq}
		advance := func(st state) state { st.Position = to; return st }
		if err := x.indexMeetings(ctx, g, ids, advance); err != nil {
			return false, err
		}
		changes = changes[used:]
		x.throttle(ctx, x.now().Sub(started))
	}
	return true, ctx.Err()
}

// firstMeetings returns the meetings of the first changes, at most n of them,
// and how many changes they cover.
func firstMeetings(changes []archive.Change, n int) (ids []int64, used int) {
	seen := map[int64]bool{}
	for _, c := range changes {
		if !seen[c.RecordingID] {
			if len(ids) == n {
				break
			}
			seen[c.RecordingID] = true
			ids = append(ids, c.RecordingID)
		}
		used++
	}
	return ids, used
}
