package syncer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"minutebook/internal/pause"
)

// retryPanicked is how long work that panicked is left alone.
const retryPanicked = time.Minute

// panicError is the panic of a piece of work, such as an unforeseen answer causes.
type panicError struct{ value any }

// Error returns the value that was given to panic.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// isPanic reports whether err is the panic of a piece of work.
func isPanic(err error) bool {
	var p *panicError
	return errors.As(err, &p)
}

// guard calls fn. If fn panics, guard logs the stack and returns the panic as an
// error: it fails this piece of work and does not end the process. Every
// goroutine of this package runs under it.
func (s *Syncer) guard(work string, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v}
			s.log.Error().Str("work", work).Str("panic", fmt.Sprint(v)).Bytes("stack", debug.Stack()).Msg("work panicked")
		}
	}()
	return fn()
}

// keepRunning runs one of the daemon's loops under guard. A loop that panicked is begun
// again a minute later, and status names it meanwhile.
func (s *Syncer) keepRunning(ctx context.Context, work string, loop func(context.Context) error) error {
	for {
		err := s.guard(work, func() error { return loop(ctx) })
		if !isPanic(err) {
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
