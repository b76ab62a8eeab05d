// Package generation reads the generations of a directory of backups. A generation
// is a directory with compressed copies of the databases; recordings stand beside
// the generations, once for all, by their hash.
//
//	generation.go   the generations of a directory
//	manifest.go     the manifest of one: its files with their sizes and hashes
//	copied.go       the recordings of an interrupted generation
//	check.go        every file compared with the manifest
//	place*.go       a directory of backups, in a file system or a bucket
//	forgotten.go    the meetings that no restore brings back
//	read.go         files as they were before compression and encryption
//
// The manifest is written last and in one step: a crash leaves a directory without
// one, which is no generation.
package generation
