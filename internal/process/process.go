// Package process limits the threads and the memory of the Go runtime. It keeps
// nothing and has nothing to lose in a crash.
package process

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
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
