package rig

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// outside is a reading of a clock outside of every bubble: only such a time has a monotonic
// reading.
var outside = time.Now()

// Clock is a machine's clock in a bubble, as a program reads it: its times have a monotonic
// reading, which goes on by itself when the clock is set. It is safe for concurrent use.
type Clock struct {
	began time.Time
	ahead atomic.Int64
}

// NewClock returns a clock that is right.
func NewClock() *Clock { return &Clock{began: time.Now()} }

// Set sets the clock, so that it is ahead of the right time by d. Both count whole seconds.
func (c *Clock) Set(d time.Duration) { c.ahead.Store(int64(d)) }

// Now returns the time.
func (c *Clock) Now() time.Time {
	wall := time.Now().Add(time.Duration(c.ahead.Load()))
	t := outside.Add(time.Duration(c.began.Nanosecond()-outside.Nanosecond()) + time.Since(c.began))
	// Only a machine can set the clock otherwise: the seconds on the wall begin at bit 30.
	*(*uint64)(unsafe.Pointer(&t)) += uint64(wall.Unix()-t.Unix()) << 30
	return t
}
