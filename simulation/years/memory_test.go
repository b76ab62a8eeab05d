package years

import (
	"math"
	"runtime"
	"strings"
)

// The program may keep so much memory, in bytes, and so many goroutines at a quiet time. In
// the first years it kept at most 14 MB and 45.
const (
	maxMemory     = 32 << 20
	maxGoroutines = 100
)

// checkMemory measures what the program keeps: its caches may grow with the configuration,
// and not with time.
func (w *world) checkMemory() {
	used, goroutines := programMemory(), runtime.NumGoroutine()
	w.mostMemory, w.mostGoroutines = max(w.mostMemory, used), max(w.mostGoroutines, goroutines)
	if used > maxMemory || goroutines > maxGoroutines {
		w.fail("the program keeps %d bytes and %d goroutines", used, goroutines)
	}
}

// programMemory returns the estimated bytes in use that packages of the program allocated,
// those of the simulation and of the simulated service left out.
func programMemory() (used int64) {
	runtime.GC()
	runtime.GC() // the profile is as of the collection before the last
	records := make([]runtime.MemProfileRecord, 1000)
	n, ok := runtime.MemProfile(records, false)
	for !ok {
		records = make([]runtime.MemProfileRecord, 2*n)
		n, ok = runtime.MemProfile(records, false)
	}
	for _, r := range records[:n] {
		if !isOfProgram(r.Stack()) {
			continue
		}
		size, count := float64(r.InUseBytes()), float64(r.InUseObjects())
		used += int64(size / (1 - math.Exp(-size/count/float64(runtime.MemProfileRate)))) // it is a sample
	}
	return used
}

// isOfProgram reports whether the innermost function of the module on a stack is the program's.
func isOfProgram(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasPrefix(f.Function, "minutebook/") {
			return !strings.HasPrefix(f.Function, "minutebook/simulation/") && !strings.HasPrefix(f.Function, "minutebook/service")
		}
	}
	return false
}
