//go:build !linux

package durable

import "os"

// SyncData makes the content and the length of f survive a loss of power. After
// an error, nothing is known about the bytes written since the last success, even
// when a later call succeeds.
func SyncData(f *os.File) error { return f.Sync() }

// Uncache tells the system that it may drop the synced content of f from memory.
// It is a hint: nothing is lost and nothing fails.
func Uncache(*os.File) {}
