package search

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"minutebook/search/segment"
)

// parallel calls fn for the numbers below n on as many goroutines as the machine
// has processors. It returns when all have ended, with the first error. It begins
// no number after an error or the end of the context. A panic, as damaged files
// cause it, becomes [ErrDamaged].
func (s *snapshot) parallel(n int, fn func(i int) error) error {
	work, ctx := errgroup.WithContext(s.ctx)
	work.SetLimit(s.x.workers)
	for i := range n {
		work.Go(func() (err error) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() {
				if p := recover(); p != nil {
					s.x.log.Error().Any("panic", p).Bytes("stack", debug.Stack()).Msg("search")
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
	return s.ctx.Err()
}
