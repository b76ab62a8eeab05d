package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
)

// TestNobodyWaitsForTheClockBehindASlowCommit has the confirmed clock wait for its turn to be
// written: the service's time is noted meanwhile, and who asks for the clock as well waits no
// longer than its context.
func TestNobodyWaitsForTheClockBehindASlowCommit(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := archivetest.Open(t, dir)
		written, slow := make(chan struct{}), make(chan error, 1)
		go func() {
			slow <- a.DB().WriteTx(context.Background(), func(*sql.Tx) error { <-written; return nil })
		}()
		synctest.Wait()
		first := make(chan error, 1)
		go func() {
			_, err := a.ConfirmedTime(context.Background())
			first <- err
		}()
		synctest.Wait()
		a.NoteServiceTime(time.Now())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := a.ConfirmedTime(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second one gets %v", err)
		}
		close(written)
		if err := errors.Join(<-slow, <-first); err != nil {
			t.Error(err)
		}
	})
}
