package syncer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A time may pass between its reading and the wait for it. Nothing else may come then.
func TestATimeThatHasPassedIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []time.Duration{0, time.Millisecond, time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			waitForChange(ctx, nil, time.Now().Add(-late), time.Now())
			if ctx.Err() != nil {
				t.Errorf("a time of %v ago was waited for", late)
			}
			cancel()
		}
	})
}
