package outbound

import (
	"fmt"
	"io"
	"time"
)

// Patience is how long the bytes of a body are waited for. A connection on which nothing
// comes ends by its own timeout; a server that sends a byte now and then would keep its
// reader for ever. The zero value is the usual patience.
type Patience struct {
	Time  time.Duration // of waiting
	Bytes int64         // that come within Time at least
}

// The usual patience lets a line of seven bytes a second go on. It is long because a server
// of S3 sends single spaces, for minutes, while it puts the parts of an object together.
const (
	usualTime  = 10 * time.Minute
	usualBytes = 4 << 10
)

// DripError says that a server sent too little to go on with it.
type DripError struct {
	Bytes  int64 // that came
	Waited time.Duration
}

// Error says how little came.
func (e *DripError) Error() string {
	return fmt.Sprintf("only %d bytes came within %v", e.Bytes, e.Waited.Round(time.Second))
}

// Timeout tells this error from others as net.Error does.
func (e *DripError) Timeout() bool { return true }

// Body returns a body whose Read fails with a [DripError] when too little came. Only the
// time within Read counts: the reader may be slow.
func (p Patience) Body(body io.ReadCloser) io.ReadCloser {
	if p == (Patience{}) {
		p = Patience{usualTime, usualBytes}
	}
	return &patientBody{ReadCloser: body, patience: p}
}

// patientBody counts the bytes, and the time of waiting, since the last time that enough came.
type patientBody struct {
	io.ReadCloser
	patience Patience
	came     int64
	waited   time.Duration
}

// Read is part of io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.came += int64(n)
	b.waited += time.Since(began)
	switch {
	case b.came >= b.patience.Bytes:
		b.came, b.waited = 0, 0
	case err == nil && b.waited >= b.patience.Time:
		err = &DripError{b.came, b.waited}
	}
	return n, err
}
