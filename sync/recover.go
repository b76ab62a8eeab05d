package syncer

import (
	"context"
	"errors"
	"time"

	"minutebook/internal/guard"
	"minutebook/internal/pause"
)

// retryPanicked is how long work that panicked is left alone.
const retryPanicked = time.Minute

// keepRunning runs one of the daemon's loops. A loop that panicked is begun
// again a minute later, and status names it meanwhile.
func (s *Syncer) keepRunning(ctx context.Context, work string, loop func(context.Context) error) error {
	for {
		err := guard.Run(s.log, work, func() error { return loop(ctx) })
		if !errors.Is(err, guard.ErrPanic) {
			return err
		}
		s.reportHealth(work, err)
		pause.For(ctx, retryPanicked)
		s.reportHealth(work, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
