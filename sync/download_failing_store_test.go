package syncer

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/media"
)

// refusingStore takes no file, and is not away.
type refusingStore struct{ media.Store }

// Import fails.
func (refusingStore) Import(context.Context, string) (media.Blob, error) {
	return media.Blob{}, errors.New("not this file")
}

// Only a store that is away is waited for: any other error of storing a whole file is that of
// the recording before long.
func TestAWholeFileThatCannotBeStoredIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &mediaHost{Server: &httptest.Server{URL: "http://127.0.0.1:1"}, data: []byte("whole")}
		s, task := testLoader(t, h, true)
		s.downloads.store = refusingStore{s.downloads.store}
		if err := os.WriteFile(s.archive.PartialPath("7"), h.data, 0o600); err != nil {
			t.Fatal(err)
		}
		task.row.Fetched, task.waitedFor = task.row.Size, false
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if err := s.downloads.fetch(ctx, task); ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "not this file") {
			t.Errorf("after a day: %v, %v", err, ctx.Err())
		}
	})
}

// checkedStore has the archive checked while it stores a file, and just before it answers.
type checkedStore struct {
	media.Store
	check func()
}

// Import stores a file.
func (s checkedStore) Import(ctx context.Context, path string) (media.Blob, error) {
	b, err := s.Store.Import(ctx, path)
	s.check()
	return b, err
}

// TestVerifyFindsNothingWhileARecordingIsStored repairs an archive when a file is in the store,
// and not attached to its meeting yet.
func TestVerifyFindsNothingWhileARecordingIsStored(t *testing.T) {
	t.Parallel()
	h := &mediaHost{Server: &httptest.Server{URL: "http://127.0.0.1:1"}, data: []byte("whole")}
	s, task := testLoader(t, h, true)
	s.downloads.store = checkedStore{s.downloads.store, func() {
		_, err := s.archive.Verify(t.Context(), archive.VerifyOptions{Repair: true}, func(d archive.Damage) {
			if d.Class != archive.DamageMode { // which the directory of a test has
				t.Errorf("verify finds %s", d)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}}
	if err := os.WriteFile(s.archive.PartialPath("7"), h.data, 0o600); err != nil {
		t.Fatal(err)
	}
	task.row.Fetched = task.row.Size
	if err := s.downloads.fetch(t.Context(), task); err != nil {
		t.Error(err)
	}
	wantKept(t, s, h.data)
}

// A file that cannot be renamed, as on a full disk, is an error of this machine.
func TestAFailedRenameIsLocal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b")); !isLocal(err) {
		t.Errorf("%v counts as an error of the recording", err)
	}
}

// A recording that rests after an error of this machine rests no more once it is forgotten.
func TestWhatIsForgottenRestsNoMore(t *testing.T) {
	t.Parallel()
	h := &mediaHost{Server: &httptest.Server{URL: "http://127.0.0.1:1"}, data: []byte("whole")}
	s, _ := testLoader(t, h, true)
	s.downloads.noteFailure(7, &lowDiskError{})
	if err := s.forget(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if err := s.downloads.failure(); err != nil {
		t.Errorf("downloads do not work: %v", err)
	}
}
