package syncer

import (
	"sync"
	"time"
)

// meter measures what the line carries while at least one fetch is going on.
type meter struct {
	mu     sync.Mutex // guards what follows
	active int
	since  time.Time // when the time below was last brought up to date
	busy   time.Duration
	bytes  int64
}

func (m *meter) begin(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accrue(now)
	m.active++
}

func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += n
}

// end ends a fetch and returns what was carried since the last end, and in how
// much busy time.
func (m *meter) end(now time.Time) (bytes int64, busy time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.accrue(now)
	m.active--
	bytes, busy = m.bytes, m.busy
	m.bytes, m.busy = 0, 0
	return bytes, busy
}

func (m *meter) accrue(now time.Time) {
	if m.active > 0 {
		m.busy += now.Sub(m.since)
	}
	m.since = now
}
