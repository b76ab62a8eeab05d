package pause

import (
	"context"
	"time"
)

// graceTime is how long a work may take to leave everything in order after its end was asked
// for. Docker and people wait no longer.
const graceTime = 10 * time.Second

// Grace returns a context with the values of ctx that ends ten seconds after ctx, for the last
// steps of a work that should not end halfway, and whose caller finishes them later if they
// do. cancel is called when they are done.
func Grace(ctx context.Context) (_ context.Context, cancel func()) { return GraceFor(ctx, graceTime) }

// GraceFor is [Grace] with another time than ten seconds.
func GraceFor(ctx context.Context, d time.Duration) (_ context.Context, cancel func()) {
	grace, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = For(grace, d)
		end(context.Cause(ctx))
	})
	return grace, func() { stop(); end(nil) }
}
