package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// TestWiderModesAreReported opens an archive that others can read.
func TestWiderModesAreReported(t *testing.T) {
	dir := t.TempDir()
	open := func() string {
		var log bytes.Buffer
		a, err := Open(t.Context(), Options{Dir: dir, Create: true, Logger: zerolog.New(&log)})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	open()
	if log := open(); strings.Contains(log, "others can reach") {
		t.Fatalf("what Open makes is reported: %s", log)
	}
	if err := os.MkdirAll(filepath.Join(dir, "index"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "media", "index", "archive.db", "inbox.db", "lock"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode()|0o040); err != nil {
			t.Fatal(err)
		}
		if log := open(); !strings.Contains(log, `"path":"`+path+`"`) {
			t.Errorf("%s is readable for the group, and the log says %q", name, log)
		}
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
