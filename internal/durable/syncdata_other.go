//go:build !linux

package durable

import "os"

// SyncData makes what was written to f, and its length, survive a loss of power.
// After an error nothing is known of what had been written since the last
// success, not even when a later call succeeds.
func SyncData(f *os.File) error { return f.Sync() }
