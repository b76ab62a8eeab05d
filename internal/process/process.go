// Package process sets what the Go runtime may take of the machine. It keeps
// nothing and has nothing to lose in a crash.
package process

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// threadsEach is how many threads there are to each processor unless said
// otherwise. With one, a goroutine that has just been woken waits up to 10 ms
// for each one before it that computes; with more, the operating system shares
// the processors out among them, and a short answer comes between long work.
const threadsEach = 3

// Tune bounds how many goroutines run at a time and how much memory the runtime
// aims to stay within. threads 0 means three to each processor, limit 0 (bytes)
// no bound. The runtime's own variables GOMAXPROCS and GOMEMLIMIT, where they
// are set, stay in force.
func Tune(threads int, limit int64) {
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
