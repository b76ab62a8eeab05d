package search

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"minutebook/archive"
)

// build fills a new generation with the whole archive, newest meetings first,
// and puts it in the place of the serving one. While one batch is written the
// next is read.
func (x *Index) build(ctx context.Context, serving, g *generation) error {
	if err := x.fillGeneration(ctx, serving, g); err != nil {
		return err
	}
	if err := g.flush(ctx); err != nil {
		return err
	}
	x.mu.Lock()
	x.serving, x.next, x.reason, x.damaged = g, nil, "", false
	x.mu.Unlock()
	x.log.Info().Int("generation", g.number).Msg("search index is whole")
	if serving != g {
		x.columns.forgetStore(serving.meetings)
		return serving.remove()
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
		return x.readChunks(ctx, g, chunks)
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

// readChunks walks over the part of the archive that a generation lacks.
func (x *Index) readChunks(ctx context.Context, g *generation, chunks chan<- *chunk) error {
	for at := g.buildState(); !at.Built; {
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
