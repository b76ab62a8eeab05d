//go:build linux

package years

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// keepOrder has goroutines run in the same order each time that a seed is lived through. Where a
// call of SQLite takes longer than 20 µs, Go's monitor gives the processor to another goroutine,
// and so it does where a goroutine runs for 10 ms: the order depends on the speed of the machine,
// and with it the order in which jobs queue for a slow disk. So the whole process has one
// processor, and the monitor's thread has it only when no other wants it.
func keepOrder(t *testing.T, seed uint64) {
	runtime.GOMAXPROCS(1)
	if err := holdBackMonitor(seed); err != nil { // as in a container that forbids it
		t.Logf("the order of goroutines is not kept: %v", err)
	}
}

// holdBackMonitor gives all threads of the process one processor, and the monitor's the lowest
// priority on it.
func holdBackMonitor(seed uint64) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	var ids []int
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	processor, err := drawProcessor(seed)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := unix.SchedSetaffinity(id, processor); err != nil {
			return fmt.Errorf("choose a processor: %w", err)
		}
	}
	monitor := ids[1] // the first thread that the runtime starts
	err = unix.SchedSetAttr(monitor, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK}, 0) // threads that it starts are as the others
	if err != nil {
		return fmt.Errorf("hold back Go's monitor: %w", err)
	}
	return nil
}

// drawProcessor takes one of the processors that this process may use. Neighbouring seeds have
// different ones: make simulate starts with them.
func drawProcessor(seed uint64) (*unix.CPUSet, error) {
	var mine, single unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		return nil, fmt.Errorf("list processors: %w", err)
	}
	skip := int(seed % uint64(mine.Count()))
	for cpu := 0; ; cpu++ {
		if !mine.IsSet(cpu) {
			continue
		}
		if skip == 0 {
			single.Set(cpu)
			return &single, nil
		}
		skip--
	}
}
