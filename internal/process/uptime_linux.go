package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// Uptime returns how long the machine has been running, its sleep included. Nobody can set
// this clock. It is 0 where the system does not say.
func Uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
