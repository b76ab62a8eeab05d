package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/internal/diskspace"
	"minutebook/internal/durable"
)

// build fills a new generation with the whole archive, newest meetings first,
// and puts it in the place of the serving one. While one batch is written the
// next is read.
func (x *Index) build(ctx context.Context, serving, g *generation) error {
	if err := x.fillGeneration(ctx, serving, g); err != nil {
		return err
	}
	if err := x.overtake(ctx, serving, g); err != nil {
		return err
	}
	if err := g.flush(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	x.serving, x.next, x.reason, x.damaged, x.postponed = g, nil, "", false, false
	x.mu.Unlock()
	x.log.Info().Int("generation", g.number).Msg("search index is whole")
	if serving != g {
		x.columns.forgetStore(serving.meetings)
		return serving.remove()
	}
	return nil
}

// overtake has a generation whose walk has ended follow the archive as far as the serving one
// did: meetings that were found are found by its successor too, and [Index.Reached] goes back to
// no earlier position.
func (x *Index) overtake(ctx context.Context, serving, g *generation) error {
	for serving.isAhead(g) {
		more, err := x.follow(ctx, g)
		if errors.Is(err, archive.ErrForeignEpoch) {
			return nil // neither is of the archive as it is now
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// chunk is a step of the walk over the archive: meetings that were read, and
// the state that the indexes have once these are in.
type chunk struct {
	*batch
	next state
}

// fillGeneration writes the chunks that are left into a new generation. The serving
// one follows the archive meanwhile.
func (x *Index) fillGeneration(ctx context.Context, serving, g *generation) error {
	work, ctx := errgroup.WithContext(ctx)
	chunks := make(chan *chunk)
	work.Go(func() error {
		defer close(chunks)
		return x.readChunks(ctx, serving, g, chunks)
	})
	work.Go(func() error {
		for c := range chunks {
			if err := x.writeChunk(ctx, g, c); err != nil {
				return err
			}
			if serving == g || !serving.isCurrent() {
				continue
			}
			if _, err := x.follow(ctx, serving); err != nil && ctx.Err() == nil && !errors.Is(err, archive.ErrForeignEpoch) {
				x.log.Warn().Err(err).Msg("follow the archive while the index is built anew")
			}
		}
		return nil
	})
	return work.Wait()
}

// readChunks walks over the part of the archive that a generation lacks, as long as the disk
// has room.
func (x *Index) readChunks(ctx context.Context, serving, g *generation, chunks chan<- *chunk) error {
	for at := g.buildState(); !at.Built; {
		if err := x.keepRoom(ctx, serving, g); err != nil {
			return err
		}
		c, err := x.readChunk(ctx, g, at)
		if err != nil {
			return err
		}
		select {
		case chunks <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
		at = c.next
	}
	return nil
}

// The room that a building leaves free on the disk, half as much again as the room without which the receiver
// takes nothing, and how long it waits for more.
const (
	roomLeft  = 96 << 20
	roomPause = 10 * time.Minute
)

// errNoRoom means that a building would fill the disk.
var errNoRoom = errors.New("the disk has no room for another index beside the one that answers")

// noRoomSuffix ends the reason of a rebuild that waits for room.
const noRoomSuffix = "; it waits: the disk has no room for another index beside the one that answers"

// readRoom is how much of the disk with a directory is free.
func readRoom(dir string) (int64, error) {
	free, _, err := diskspace.Read(dir)
	return free, err
}

// hasRoom reports whether the disk has so many bytes beside those that stay free; also where
// that is unknown.
func (x *Index) hasRoom(bytes int64) bool {
	free, err := x.room(x.dir)
	return err != nil || free >= roomLeft+bytes
}

// keepRoom fails with errNoRoom where the disk has too little room for a generation and the
// serving one follows the archive without it. Where none does, it waits for room.
func (x *Index) keepRoom(ctx context.Context, serving, g *generation) error {
	if x.hasRoom(0) {
		return nil
	}
	if serving != g && serving.isCurrent() {
		return errNoRoom
	}
	x.log.Warn().Int("meetings", g.buildState().Walked).Msg("the search index waits for room on the disk")
	for !x.hasRoom(0) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(x.roomPause):
		}
	}
	return nil
}

// postpone removes a generation for which the disk has no room, if it was begun, and notes that
// it is still wanted. It is begun again once there is room, see isPostponed.
func (x *Index) postpone(g *generation) error {
	x.mu.Lock()
	if !x.postponed {
		x.reason += noRoomSuffix
		x.log.Warn().Str("reason", x.reason).Msg("the search index is not built anew yet")
	}
	x.next, x.rebuildWanted, x.postponed = nil, true, true
	x.retryAt = x.now().Add(x.roomPause)
	why := x.reason
	x.mu.Unlock()
	if g == nil {
		return nil
	}
	x.columns.forgetStore(g.meetings)
	if err := g.remove(); err != nil {
		return err
	}
	if err := durable.WriteFile(x.requestPath(), []byte(why)); err != nil {
		return fmt.Errorf("note that the search index is to be built anew: %w", err)
	}
	return nil
}

// isPostponed reports whether a rebuild that is wanted waits for room on the disk.
func (x *Index) isPostponed() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.postponed && x.rebuildWanted && x.now().Before(x.retryAt)
}

// buildState returns the state of the index that is behind the other.
func (g *generation) buildState() state {
	a, b := g.meetings.lastState(), g.moments.lastState()
	if b.Walked < a.Walked || !b.Built && a.Built {
		return b
	}
	return a
}

// readChunk reads the next meetings of the walk.
func (x *Index) readChunk(ctx context.Context, g *generation, at state) (*chunk, error) {
	limit := buildMeetings
	if x.busy() {
		limit = busyMeetings
	}
	rows, err := x.archive.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, IncludeGone: true, Cursor: at.Next, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("build the search index: %w", err)
	}
	var ids []int64
	for _, r := range rows {
		ids = append(ids, r.RecordingID)
	}
	c := &chunk{next: at}
	c.next.Walked += len(rows)
	if len(rows) > 0 {
		key := rows[len(rows)-1].Key()
		c.next.Next = &key
	}
	if len(rows) < limit {
		c.next.Built, c.next.Next = true, nil
	}
	c.batch, err = x.prepareBatch(ctx, g, ids)
	return c, err
}

// writeChunk writes a step of the walk, and pauses where others need the
// machine.
func (x *Index) writeChunk(ctx context.Context, g *generation, c *chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	started := x.now()
	if err := g.write(ctx, c.batch, func(state) state { return c.next }); err != nil {
		return err
	}
	x.throttle(ctx, x.now().Sub(started))
	x.countMeetings(ctx)
	return nil
}
