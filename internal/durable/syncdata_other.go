//go:build !linux

package durable

import "os"

// SyncData makes what was written to f, and its length, survive a loss of power.
// After an error nothing is known of what had been written since the last
// success, not even when a later call succeeds.
func SyncData(f *os.File) error { return f.Sync() }

// Uncache tells the system that what was synced of f need not stay in memory. It
// is a hint: nothing is lost and nothing fails.
func Uncache(*os.File) {}
