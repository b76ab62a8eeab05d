package access

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minutebook/archive/archivetest"
)

// TestAuditIsPrunedWhileItIsWritten records, prunes and checks the audit at the same
// time: every check finds a whole chain.
func TestAuditIsPrunedWhileItIsWritten(t *testing.T) {
	t.Parallel()
	var tick atomic.Int64
	now := func() time.Time { return archivetest.Epoch.Add(time.Duration(tick.Add(1)) * time.Millisecond) }
	db, err := Open(t.Context(), Options{Archive: archivetest.Open(t, t.TempDir()), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	var writers, others sync.WaitGroup
	var pruned atomic.Int64
	done := make(chan struct{})
	for range 2 {
		writers.Go(func() {
			for range 100 {
				if err := db.Record(t.Context(), Event{Actor: ActorSystem, Kind: ConfigurationLoaded}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	until := func(work func()) {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					work()
				}
			}
		})
	}
	until(func() {
		n, err := db.Prune(t.Context(), time.Now(), 20*time.Millisecond)
		if pruned.Add(n); err != nil {
			t.Error(err)
		}
	})
	until(func() {
		if breaks, err := db.CheckAudit(t.Context()); err != nil || len(breaks) > 0 {
			t.Errorf("while it is written: %v, %v", breaks, err)
		}
	})
	writers.Wait()
	close(done)
	others.Wait()
	left, err := db.Events(t.Context(), EventQuery{})
	if err != nil || int64(len(left))+pruned.Load() != 200 {
		t.Errorf("%d rows are left and %d pruned, %v; 200 were written", len(left), pruned.Load(), err)
	}
}
