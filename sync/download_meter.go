package syncer

import (
	"sync"
	"time"
)

// meter measures how many bytes arrive while at least one fetch is active.
type meter struct {
	mu     sync.Mutex // guards the fields below
	active int
	since  time.Time // when accrue was last called
	busy   time.Duration
	bytes  int64
}

// begin starts a fetch.
func (m *meter) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accrue(now)
	m.active++
}

// add counts bytes that have arrived.
func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += n
}

// end ends a fetch. It returns the bytes that arrived since the last end, and
// for how long a fetch was active meanwhile.
func (m *meter) end(now time.Time) (bytes int64, busy time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accrue(now)
	m.active--
	bytes, busy = m.bytes, m.busy
	m.bytes, m.busy = 0, 0
	return bytes, busy
}

// accrue adds the time since the last call, if a fetch was active.
func (m *meter) accrue(now time.Time) {
	if m.active > 0 {
		m.busy += now.Sub(m.since)
	}
	m.since = now
}
