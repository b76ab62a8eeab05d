package years

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// slowDisk is the speed of the machine's disk. A commit waits where SQLite calls its hook, before
// it is written, and holds the database's one writing connection and its lock meanwhile. Nobody
// else waits for that lock in real time. What comes after the commit's own sync has no border here;
// cmd/minutebook's TestSlowDisk has it.
type slowDisk struct {
	span  atomic.Pointer[slowSpan]
	mu    sync.Mutex // guards slept
	slept map[string]time.Duration
}

// slowSpan is a time in which commits are slow.
type slowSpan struct {
	until time.Time
	most  time.Duration // of one commit
	reads bool          // reads of recordings are slow too
}

// draw returns how long a commit or read takes: from a millisecond to the most, each order of
// magnitude as often. It depends on the moment and not on the order in which goroutines run.
func (s *slowSpan) draw(seed uint64, name string) time.Duration {
	r := newRand(seed, fmt.Sprintf("slow %s at %d", name, time.Now().UnixNano()))
	return time.Duration(float64(time.Millisecond) * math.Pow(float64(s.most)/float64(time.Millisecond), r.Float64()))
}

// present returns the span of this moment; nil: the disk is fast.
func (d *slowDisk) present() *slowSpan {
	if s := d.span.Load(); s != nil && time.Now().Before(s.until) {
		return s
	}
	return nil
}

// readsWereSlow reports whether a call that ends now may have read a recording slowly.
func (d *slowDisk) readsWereSlow() bool {
	s := d.span.Load()
	return s != nil && s.reads && time.Now().Before(s.until.Add(s.most))
}

// wait lasts as long as a commit to a database does, or until the program is dead.
func (d *slowDisk) wait(h *house, path string) {
	s, name := d.present(), filepath.Base(path)
	if s == nil {
		return
	}
	for left := s.draw(h.w.seed, name); left > 0 && !h.dead.Load(); {
		step := min(left, time.Second)
		time.Sleep(step)
		left -= step
		d.mu.Lock()
		d.slept[name] += step
		d.mu.Unlock()
	}
}

// cost is how long the commits of databases have waited until now; of no database: of all.
func (d *slowDisk) cost(names ...string) (sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, slept := range d.slept {
		if len(names) == 0 || name == names[0] {
			sum += slept
		}
	}
	return sum
}

// slowDown has commits, and in half of the cases reads of recordings in a bucket, take long for
// some time.
func (w *world) slowDown(g *rand.Rand) {
	if w.isCalm() {
		return
	}
	most := []time.Duration{50 * time.Millisecond, time.Second, 10 * time.Second, time.Minute}[g.IntN(4)]
	w.slowFor(time.Duration(10+g.IntN(12*3600))*time.Second, most, g.IntN(2) == 0)
}

func (w *world) slowFor(d, most time.Duration, reads bool) {
	s := &slowSpan{time.Now().Add(d), most, reads}
	w.journal.note("commits take up to %s until %s; reads of recordings too: %v", most, stamp(s.until), reads)
	w.disturbRelay()
	w.disk.span.Store(s)
}

// TestCommitsTakeLong has a commit wait while others read.
func TestCommitsTakeLong(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, firstHarsh, dir, options{days: 75})
		defer w.end()
		h := w.start(w.dataDir)
		w.slowFor(time.Hour, time.Minute, false)
		before, began, done := w.disk.cost("archive.db"), time.Now(), make(chan error)
		go func() {
			done <- h.archive.SetMarks(context.Background(), archive.Mark{Key: "simulated", Value: []byte("1")})
		}()
		synctest.Wait()
		if value, err := h.archive.Mark(t.Context(), "simulated"); err != nil || value != nil {
			t.Errorf("before the commit the mark is %q: %v", value, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took, cost := time.Since(began), w.disk.cost("archive.db")-before; took < time.Millisecond || took > cost {
			t.Errorf("a commit took %s, and the disk %s", took, cost)
		}
	})
}
