package archive

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minutebook/internal/sqlite"
	"minutebook/internal/sqlite/frozen"
	"minutebook/internal/testrun"
)

// contents returns the files of a directory, without the lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != "lock" {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			must(t, err)
			files[e.Name()] = string(b)
		}
	}
	return files
}

// TestALaterSchemaStopsEveryMigration opens an archive of the first release in which one
// database is of a later version: all files are as they were, to the byte.
func TestALaterSchemaStopsEveryMigration(t *testing.T) {
	for _, name := range []string{"archive.db", "inbox.db", "notes.db"} {
		dir := frozen.Directory(t, "0.9.0")
		damageDatabase(t, filepath.Join(dir, name), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
		before := contents(t, dir)
		_, err := Open(t.Context(), Options{Dir: dir, Schemas: map[string]fs.FS{"notes.db": os.DirFS("notes/migrations")}})
		if !errors.Is(err, sqlite.ErrNewer) || !strings.Contains(err.Error(), name+": it has schema version") {
			t.Errorf("%s: %v", name, err)
		}
		if after := contents(t, dir); !cmp.Equal(before, after) {
			t.Errorf("%s: a file has changed; now there are %d of %d", name, len(after), len(before))
		}
	}
}

// TestADamagedDatabaseStopsEveryMigration opens an archive of the first release in which one
// database is damaged: none is migrated, so the earlier version still opens the others.
func TestADamagedDatabaseStopsEveryMigration(t *testing.T) {
	for _, name := range []string{"archive.db", "inbox.db", "notes.db"} {
		dir := frozen.Directory(t, "0.9.0")
		must(t, os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("no database "), 1000), 0o600))
		before := contents(t, dir)
		_, err := Open(t.Context(), Options{Dir: dir, Schemas: map[string]fs.FS{"notes.db": os.DirFS("notes/migrations")}})
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if after := contents(t, dir); !cmp.Equal(before, after) {
			t.Errorf("%s: a file has changed; now there are %d of %d", name, len(after), len(before))
		}
	}
}

// TestARoomForAllMigrations opens an archive of the first release where the room is enough for
// the copy of archive.db, and not for that of inbox.db beside it: nothing is migrated.
func TestARoomForAllMigrations(t *testing.T) {
	testrun.SkipUnderRace(t)
	// About 86 MB are free beside the two: one of them needs 79 MB, both need 94 MB.
	disk := testrun.SmallDisk(t, 118)
	for version, name := range map[string]string{"0.9.0": "archive.db", "1": "inbox.db"} {
		must(t, os.WriteFile(filepath.Join(disk.Dir, name), []byte(contents(t, frozen.Directory(t, version))[name]), 0o600))
	}
	for _, name := range []string{"archive.db", "inbox.db"} {
		damageDatabase(t, filepath.Join(disk.Dir, name), `CREATE TABLE filler AS SELECT randomblob(15000000)`)
	}
	before := contents(t, disk.Dir)
	_, err := Open(t.Context(), Options{Dir: disk.Dir})
	if !errors.Is(err, sqlite.ErrDiskFull) || !strings.Contains(err.Error(), "migrate archive.db, inbox.db in "+disk.Dir) {
		t.Errorf("open: %v", err)
	}
	if after := contents(t, disk.Dir); !cmp.Equal(before, after) {
		t.Errorf("a file has changed; now there are %d of %d", len(after), len(before))
	}
}
