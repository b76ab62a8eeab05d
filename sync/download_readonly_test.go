package syncer

import (
	"os"
	"path/filepath"
	"testing"

	"minutebook/archive"
)

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
