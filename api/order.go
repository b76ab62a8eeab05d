package api

import "context"

type orderKey struct{}

// WithOrder lets next number the calls that are made with the returned context:
// it is asked whenever one is sent, and the number of the attempt that was
// answered is the answer's Order. Answers that overtake one another, and a clock
// that goes back, then leave no doubt about which was sent later.
func WithOrder(ctx context.Context, next func() int64) context.Context {
	return context.WithValue(ctx, orderKey{}, next)
}

func nextOrder(ctx context.Context) int64 {
	if next, ok := ctx.Value(orderKey{}).(func() int64); ok {
		return next()
	}
	return 0
}
