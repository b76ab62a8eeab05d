package syncer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive"
)

// A run that was cut after it had attached a recording of which another meeting has the same
// file leaves its own one behind. The next run deletes it.
func TestNoPartialFileOfAnAttachedRecordingIsLeft(t *testing.T) {
	t.Parallel()
	s, task := testLoader(t, newMediaHost(t, 1), true)
	blob, err := s.archive.Media().Put(t.Context(), strings.NewReader("whole"))
	if err == nil {
		err = s.archive.AttachMedia(t.Context(), 7, archive.MediaVideo, blob)
	}
	if err == nil {
		err = os.WriteFile(s.archive.PartialPath("7"), []byte("whole"), 0o600)
	}
	if err == nil {
		err = s.downloads.fetch(t.Context(), task)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.archive.PartialPath("7")); !errors.Is(err, os.ErrNotExist) || task.row.State != archive.DownloadDone {
		t.Errorf("the partial file: %v; the download is %s", err, task.row.State)
	}
}

// An earlier version left files read-only that were whole and could not be copied to their
// store. They are opened for writing again.
func TestAReadOnlyPartialFileIsOpened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "7")
	if err := os.WriteFile(path, []byte("whole"), 0o400); err != nil {
		t.Fatal(err)
	}
	task := &downloadTask{row: archive.Download{RecordingID: 7, Size: 5, Fetched: 5}}
	file, err := (&downloader{}).openPartial(t.Context(), task, path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 5 || task.hasher.size != 5 {
		t.Errorf("opened %v, %v", info, err)
	}
}
