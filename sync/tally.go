package syncer

import (
	"sync"
	"time"
)

// tally counts what a run does, for its progress. A nil tally counts nothing.
type tally struct {
	mu sync.Mutex // guards what follows
	n  counts
}

// counts are the numbers of a tally.
type counts struct {
	Found, Kept   int // meetings listed, and of these new to the archive
	Windows, Over int // windows of walks, and of these read to the end
	Pages         int
	Content       int // transcripts and summaries read one by one
	Recordings    int
	Bytes         int64 // of recordings
	Began         time.Time
	Doing         string // the job that was begun last
	Media         bool   // recordings are waited for
}

func (t *tally) add(fn func(*counts)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fn(&t.n)
}

func (t *tally) page(found, kept int) {
	t.add(func(n *counts) { n.Pages++; n.Found += found; n.Kept += kept })
}
func (t *tally) windows(n int)    { t.add(func(c *counts) { c.Windows += n }) }
func (t *tally) windowDone()      { t.add(func(c *counts) { c.Over++ }) }
func (t *tally) resumed(n int)    { t.add(func(c *counts) { c.Windows += n; c.Over += n }) }
func (t *tally) content()         { t.add(func(c *counts) { c.Content++ }) }
func (t *tally) doing(job string) { t.add(func(c *counts) { c.Doing = job }) }
func (t *tally) recording()       { t.add(func(c *counts) { c.Recordings++ }) }
func (t *tally) fetched(n int64)  { t.add(func(c *counts) { c.Bytes += n }) }
func (t *tally) read() (n counts) {
	t.add(func(c *counts) { n = *c })
	return n
}
