package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent, end := context.WithTimeoutCause(context.WithValue(t.Context(), key{}, 7), time.Hour, context.DeadlineExceeded)
		defer end()
		began := time.Now()
		grace, cancel := Grace(parent)
		defer cancel()
		<-grace.Done()
		if passed := time.Since(began); passed != time.Hour+graceTime || context.Cause(grace) != context.DeadlineExceeded || grace.Value(key{}) != 7 {
			t.Errorf("ended after %v by %v, with the value %v", passed, context.Cause(grace), grace.Value(key{}))
		}
		short, done := Grace(parent) // its parent has ended already
		done()
		<-short.Done()
		if passed := time.Since(began); passed != time.Hour+graceTime || context.Cause(short) != context.Canceled {
			t.Errorf("ended after %v by %v", passed, context.Cause(short))
		}
		synctest.Wait() // nothing goes on
	})
}
