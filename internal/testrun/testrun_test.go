package testrun_test

import (
	"runtime"
	"testing"

	"minutebook/internal/testrun"
)

func TestRunsWithoutTheRaceDetector(t *testing.T) {
	testrun.SkipUnderRace(t)
	if testrun.UnderRace {
		t.Error("this went on under the race detector")
	}
}

// failing records that a test was ended by Fatal.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Fatal(...any) { f.failed = true; runtime.Goexit() }
func (f *failing) Skip(...any)  { runtime.Goexit() }

// skip calls SkipUnderRace on behalf of another function, as no test may.
func skip(t testing.TB) { testrun.SkipUnderRace(t) }

func TestFailsOutsideOfTheTestFunction(t *testing.T) {
	helped := &failing{TB: t}
	call(func() { skip(helped) })
	if !helped.failed {
		t.Error("a helper may skip a test: the run without the race detector would not know of it")
	}
	t.Run("sub", func(t *testing.T) {
		sub := &failing{TB: t}
		call(func() { testrun.SkipUnderRace(sub) })
		if !sub.failed {
			t.Error("a subtest may skip itself: the run without the race detector would not know of it")
		}
	})
}

// call calls fn in a goroutine of its own, which fn may end.
func call(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
	}()
	<-done
}
