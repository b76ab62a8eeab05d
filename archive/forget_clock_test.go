package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/fstest"
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

// TestNobodyWaitsForADatabaseThatOpens has the opening of another database wait for its turn to
// write: the state of the forgetting is told meanwhile, and who opens one as well waits no longer than
// the context.
func TestNobodyWaitsForADatabaseThatOpens(t *testing.T) {
	dir, migrations := t.TempDir(), fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x TEXT);")}}
	synctest.Test(t, func(t *testing.T) {
		a := archivetest.Open(t, dir)
		written, slow := make(chan struct{}), make(chan error, 1)
		go func() {
			slow <- a.DB().WriteTx(context.Background(), func(*sql.Tx) error { <-written; return nil })
		}()
		synctest.Wait()
		first := make(chan error, 1)
		go func() {
			_, err := a.SideDB(context.Background(), "first.db", migrations)
			first <- err
		}()
		synctest.Wait()
		if _, _, err := a.Forgetting(context.Background()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := a.SideDB(ctx, "second.db", migrations); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second database: %v", err)
		}
		close(written)
		if err := errors.Join(<-slow, <-first); err != nil {
			t.Error(err)
		}
	})
}
