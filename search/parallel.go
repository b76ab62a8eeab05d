package search

import (
	"runtime/debug"

	"golang.org/x/sync/errgroup"
)

// parallel calls fn for the numbers below n on as many goroutines as the machine
// has processors. It returns when all have ended, with the first error. It begins
// no number after an error or the end of the context. A panic, as damaged files
// cause it, becomes [ErrDamaged].
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
