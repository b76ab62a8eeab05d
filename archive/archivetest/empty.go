package archivetest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/media"
)

// Dir returns a new data directory with an archive that has the newest schema, and
// gets its epoch when it is opened first. Copying it takes a third of the time of the
// migrations.
func Dir(t testing.TB) string {
	t.Helper()
	emptyOnce.Do(func() {
		dir := t.TempDir()
		a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.DB().W.ExecContext(t.Context(), `DELETE FROM info WHERE name IN ('epoch', 'created_at', 'media')`)
		if err := errors.Join(err, a.Close(), os.Remove(filepath.Join(dir, "media", media.OwnerName))); err != nil {
			t.Fatal(err)
		}
		emptyFiles = Tree(t, dir)
	})
	return copyTree(t, emptyFiles)
}

// Each directory is made once in a process: path to content.
var (
	emptyOnce, sampleOnce   sync.Once
	emptyFiles, sampleFiles map[string]string // of [Dir] and [Sample]
)

// copyTree returns a new directory with the files.
func copyTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
