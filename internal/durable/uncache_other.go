//go:build !linux

package durable

import "os"

// Uncache tells the system that it may drop the synced content of f from memory.
// It is a hint: nothing is lost and nothing fails.
func Uncache(*os.File) {}
