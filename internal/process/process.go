// Package process limits the threads and the memory of the Go runtime, gives memory back
// while the program is at rest, and keeps its memory out of core files. It keeps nothing
// and has nothing to lose in a crash.
package process

import (
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// threadsEach is the default number of threads for each processor. With one, a
// goroutine that has just been woken waits up to 10 ms for each computing
// goroutine before it. With more, the operating system divides the processors
// among them, so that a short answer is not delayed by long work.
const threadsEach = 3

// Tune limits the goroutines that run at a time and the memory that the runtime
// aims to use, in bytes. threads 0 means three for each processor, limit 0 no
// limit. The variables GOMAXPROCS and GOMEMLIMIT, where set, stay in force.
func Tune(threads int, limit int64) {
	limitArenas()
	if os.Getenv("GOMAXPROCS") == "" {
		if threads <= 0 {
			runtime.SetDefaultGOMAXPROCS()
			threads = threadsEach * runtime.GOMAXPROCS(0)
		}
		runtime.GOMAXPROCS(threads)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit <= 0 {
			limit = math.MaxInt64
		}
		debug.SetMemoryLimit(limit)
	}
}

// restShare is the share of one processor below which the program is at rest.
const restShare = 0.01

// ReleaseAtRest gives memory that work has left behind back to the operating system as soon
// as the program has used less than a hundredth of a processor for the time of interval, and
// once more after the next interval of rest, since connections to databases stay open for a
// while after their last work. Work is also many small pieces that together took as long.
// The runtime releases memory too, but keeps as much as the largest of the last works needed.
// Each time it first calls release, by which the program gives back memory that only it knows of.
// ReleaseAtRest returns when ctx ends.
func ReleaseAtRest(ctx context.Context, interval time.Duration, release func()) {
	share := time.Duration(restShare * float64(interval))
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last, released := processorTime(), time.Duration(0)
	for again := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := processorTime()
		rests := now-last <= share
		last = now
		if worked := now-released > share; rests && (worked || again) {
			release()
			debug.FreeOSMemory()
			trimC()
			releaseProgram()
			last, again = processorTime(), worked
			released = last
		}
	}
}

// processorTime returns how long this process has used processors; 0 where the system
// does not tell.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
