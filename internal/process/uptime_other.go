//go:build !linux

package process

import "time"

// Uptime returns 0, unknown, on this system.
func Uptime() time.Duration { return 0 }
