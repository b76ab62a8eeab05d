package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// duringACommit has a commit of an archive wait until fn returns. fn begins works behind it, which
// then have to succeed.
func duringACommit(t *testing.T, fn func(a *archive.Archive, begin func(work func() error))) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		a := archivetest.Open(t, dir)
		var works errgroup.Group
		begin := func(work func() error) {
			works.Go(work)
			synctest.Wait()
		}
		written := make(chan struct{})
		begin(func() error {
			return a.DB().WriteTx(context.Background(), func(*sql.Tx) error { <-written; return nil })
		})
		fn(a, begin)
		close(written)
		if err := works.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestNobodyWaitsForTheClockBehindASlowCommit has the confirmed clock wait for its turn to be
// written: the service's time is noted meanwhile, and who asks for the clock as well waits no
// longer than its context.
func TestNobodyWaitsForTheClockBehindASlowCommit(t *testing.T) {
	duringACommit(t, func(a *archive.Archive, begin func(work func() error)) {
		begin(func() error { _, err := a.ConfirmedTime(context.Background()); return err })
		a.NoteServiceTime(time.Now())
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := a.ConfirmedTime(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second one gets %v", err)
		}
	})
}

// TestNobodyWaitsForADatabaseThatOpens has the opening of another database wait for its turn to
// write: the state of the forgetting is read meanwhile, and who opens one as well waits no longer than
// the context.
func TestNobodyWaitsForADatabaseThatOpens(t *testing.T) {
	migrations := fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (x TEXT);")}}
	duringACommit(t, func(a *archive.Archive, begin func(work func() error)) {
		begin(func() error { _, err := a.SideDB(context.Background(), "first.db", migrations); return err })
		if _, _, err := a.Forgetting(context.Background()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := a.SideDB(ctx, "second.db", migrations); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second database: %v", err)
		}
	})
}
