package api

import "context"

type orderKey struct{}

// WithOrder numbers the calls made with the returned context by next, which is
// called whenever a call is sent. The number of the answered attempt is the answer's
// Order. It shows which call was sent later, even when answers overtake one another
// or a clock goes back.
func WithOrder(ctx context.Context, next func() int64) context.Context {
	return context.WithValue(ctx, orderKey{}, next)
}

func nextOrder(ctx context.Context) int64 {
	if next, ok := ctx.Value(orderKey{}).(func() int64); ok {
		return next()
	}
	return 0
}
