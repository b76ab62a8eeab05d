package archive_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestVerifyFindsNothingWhileARecordingIsAttached checks an archive while the commit that attaches
// a stored recording waits.
func TestVerifyFindsNothingWhileARecordingIsAttached(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		a, ctx := archivetest.Open(t, dir), context.Background()
		archivetest.Apply(t, a, time.Now(), archivetest.Meeting(1, "Weekly", "words"))
		blob, err := a.Media().Put(ctx, strings.NewReader("a recording"))
		if err != nil {
			t.Fatal(err)
		}
		written, results := make(chan struct{}), make(chan error, 3)
		go func() { results <- a.DB().WriteTx(ctx, func(*sql.Tx) error { <-written; return nil }) }()
		synctest.Wait()
		go func() { results <- a.AttachMedia(ctx, 1, archive.MediaVideo, blob) }()
		synctest.Wait()
		go func() {
			_, err := a.Verify(ctx, archive.VerifyOptions{}, func(d archive.Damage) { t.Errorf("verify finds %s", d) })
			results <- err
		}()
		synctest.Wait()
		close(written)
		if err := errors.Join(<-results, <-results, <-results); err != nil {
			t.Error(err)
		}
	})
}
