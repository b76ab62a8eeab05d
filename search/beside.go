package search

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"minutebook/search/segment"
)

// beside calls fn for the numbers below n on as many goroutines as the machine
// has processors, and returns when all have ended, with the first error there was.
// No number is begun after an error or the end of the context. A panic, as damaged
// files cause, becomes ErrDamaged.
func (v *view) beside(n int, fn func(i int) error) error {
	work, ctx := errgroup.WithContext(v.ctx)
	work.SetLimit(v.x.workers)
	for i := range n {
		work.Go(func() (err error) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if p := recover(); p != nil {
					v.x.log.Error().Any("panic", p).Bytes("stack", debug.Stack()).Msg("search")
					err = fmt.Errorf("%v: %w", p, segment.ErrDamaged)
				}
			}()
			if err := ctx.Err(); err != nil {
				return err
			}
			return fn(i)
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	return v.ctx.Err()
}
