package syncer

import (
	"sync"
	"time"
)

// runStats counts the work of a run, for its progress. A nil runStats counts
// nothing.
type runStats struct {
	mu sync.Mutex // guards the fields below
	n  runCounts
}

// runCounts are the numbers of a [runStats].
type runCounts struct {
	Found, Kept          int // meetings listed, and of these new to the archive
	Windows, WindowsDone int // windows of walks, and of these finished
	Pages                int
	Content              int // transcripts and summaries read one by one
	Recordings           int
	Bytes                int64 // of recordings
	Began                time.Time
	Job                  string // the job that began last
	Media                bool   // the run waits for recordings
}

// update calls fn with the counts, one caller at a time.
func (t *runStats) update(fn func(*runCounts)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(&t.n)
}

// countPage counts a page of a list.
func (t *runStats) countPage(found, kept int) {
	t.update(func(n *runCounts) { n.Pages++; n.Found += found; n.Kept += kept })
}
func (t *runStats) addWindows(n int) { t.update(func(c *runCounts) { c.Windows += n }) }
func (t *runStats) finishWindow()    { t.update(func(c *runCounts) { c.WindowsDone++ }) }
func (t *runStats) addResumed(n int) {
	t.update(func(c *runCounts) { c.Windows += n; c.WindowsDone += n })
}
func (t *runStats) countContent()      { t.update(func(c *runCounts) { c.Content++ }) }
func (t *runStats) setJob(job string)  { t.update(func(c *runCounts) { c.Job = job }) }
func (t *runStats) countRecording()    { t.update(func(c *runCounts) { c.Recordings++ }) }
func (t *runStats) countBytes(n int64) { t.update(func(c *runCounts) { c.Bytes += n }) }

// snapshot returns a copy of the counts.
func (t *runStats) snapshot() (n runCounts) {
	t.update(func(c *runCounts) { n = *c })
	return n
}
