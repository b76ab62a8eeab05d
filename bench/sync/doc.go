// Package sync measures the sync against the real service in virtual time: hours
// pass in seconds, and every call is counted. The figures are
// printed by make bench, or
//
//	MINUTEBOOK_BENCH=full go test -run Figure -v ./bench/sync
//
// and without the variable the same is checked on less.
package sync
