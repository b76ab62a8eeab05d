package process

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestTune(t *testing.T) {
	t.Cleanup(func() {
		runtime.SetDefaultGOMAXPROCS()
		debug.SetMemoryLimit(math.MaxInt64)
	})
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GOMEMLIMIT", "")
	runtime.SetDefaultGOMAXPROCS()
	own := runtime.GOMAXPROCS(0)
	for range 2 { // again changes nothing
		Tune(0, 1<<30)
		if got := runtime.GOMAXPROCS(0); got != threadsEach*own {
			t.Errorf("%d threads on %d processors, want %d", got, own, threadsEach*own)
		}
	}
	if got := debug.SetMemoryLimit(-1); got != 1<<30 {
		t.Errorf("memory limit %d, want %d", got, 1<<30)
	}
	Tune(5, 0)
	if got := runtime.GOMAXPROCS(0); got != 5 {
		t.Errorf("%d threads, want the 5 asked for", got)
	}
	t.Setenv("GOMAXPROCS", "5")
	t.Setenv("GOMEMLIMIT", "1GiB")
	Tune(7, 1<<20)
	if got, limit := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); got != 5 || limit != math.MaxInt64 {
		t.Errorf("%d threads and limit %d: the runtime's own variables were overruled", got, limit)
	}
}

// TestReleaseAtRest works twice and rests after each work, for which memory is released twice.
func TestReleaseAtRest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	released, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ReleaseAtRest(ctx, 10*time.Millisecond, func() {
			select {
			case released <- struct{}{}:
			case <-ctx.Done():
			}
		})
	}()
	for range 2 {
		select {
		case <-released:
		case <-time.After(time.Minute):
			t.Fatal("memory is released once, and not again when the connections have closed")
		}
	}
	used := processorTime()
	if used <= 0 {
		t.Errorf("the process has used %v of a processor", used)
	}
	for working := true; working; { // until the next rest counts as one after work
		select {
		case <-released:
			working = false
		default:
			for processorTime() < used+20*time.Millisecond {
			}
			time.Sleep(30 * time.Millisecond)
			used = processorTime()
		}
	}
	cancel()
	<-ended
}
