package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// TestMigrationOnAFullDisk migrates where there is no room for the copy, and where the
// room ends in the middle of the migration: the database stays as it was, for the old
// version too, the error names the file, the disk gets its room back, and with room the
// next start goes on.
func TestMigrationOnAFullDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 90)
	path := filepath.Join(disk.Dir, "x.db")
	db, _, err := opened(t, path, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(`INSERT INTO a VALUES ('old')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	large := map[string]string{"00001_a.sql": first["00001_a.sql"], "00003_c.sql": second["00003_c.sql"] +
		" CREATE TABLE filler (x BLOB); INSERT INTO filler WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150) SELECT randomblob(1000000) FROM n;"}
	remains := func() []string {
		left, err := filepath.Glob(path + ".*")
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	fails := func(name string, files map[string]string) {
		t.Helper()
		if _, _, err := opened(t, path, files); !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "x.db") || strings.Contains(err.Error(), "earlier version") {
			t.Errorf("%s: %v", name, err)
		}
		if left := remains(); len(left) > 0 {
			t.Errorf("%s: it leaves %v", name, left)
		}
		db, got, err := opened(t, path, first)
		if err != nil || len(got) != 1 || got[0] != "old" {
			t.Fatalf("%s: the old version reads %v, %v", name, got, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
			t.Errorf("%s: the log keeps %d bytes", name, log.Size())
		}
	}
	fails("in the middle", large)
	if err := os.WriteFile(filepath.Join(disk.Dir, "others"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	fails("no room for the copy", second)
	if err := os.Remove(filepath.Join(disk.Dir, "others")); err != nil {
		t.Fatal(err)
	}
	if _, got, err := opened(t, path, second); err != nil || len(got) != 1 || len(remains()) != 1 {
		t.Errorf("with room: %v, %v, %v", got, remains(), err)
	}
}

// TestMigrationMakesRoom migrates on a disk that has no room for another copy: the rest of an
// interrupted one goes first, then the copies from before earlier migrations, and these only
// where that is enough.
func TestMigrationMakesRoom(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, c := range map[string]struct {
		megabytes map[string]int
		dropped   []string
		err       error
		left      []string
		sparse    bool // the files take no room
	}{
		"copies that are enough":     {map[string]int{"x.db.before-0": 40}, []string{"x.db.before-0"}, nil, []string{"x.db.before-1"}, false},
		"copies that are not enough": {map[string]int{"x.db.before-0": 10, "others": 40}, nil, ErrDiskFull, []string{"x.db.before-0"}, false},
		"an interrupted copy":        {map[string]int{"x.db.before-0": 5, "x.db.migrating": 40}, nil, nil, []string{"x.db.before-0", "x.db.before-1"}, false},
		"copies that take no room":   {map[string]int{"x.db.before-0": 60}, []string{"x.db.before-0"}, ErrDiskFull, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			room := 90
			if c.sparse {
				room = 50
			}
			disk := testrun.SmallDisk(t, room)
			path := filepath.Join(disk.Dir, "x.db")
			db, _, err := opened(t, path, first)
			if err != nil {
				t.Fatal(err)
			}
			for name, megabytes := range c.megabytes {
				content := make([]byte, megabytes<<20)
				if c.sparse {
					content = nil
				}
				file := filepath.Join(disk.Dir, name)
				if err := errors.Join(os.WriteFile(file, content, 0o600), os.Truncate(file, int64(megabytes)<<20)); err != nil {
					t.Fatal(err)
				}
			}
			var dropped []string
			err = db.Migrate(t.Context(), migrationSet(second), MigrationReports{time.Hour, func(p MigrationProgress) { dropped = p.Dropped }})
			if !errors.Is(err, c.err) || !slices.Equal(names(dropped), c.dropped) {
				t.Errorf("%v; dropped %v, want %v", err, dropped, c.dropped)
			}
			left, err := filepath.Glob(path + ".*")
			if err != nil || !slices.Equal(names(left), c.left) {
				t.Errorf("left are %v, %v; want %v", left, err, c.left)
			}
		})
	}
}

// names returns the last elements of paths.
func names(paths []string) (names []string) {
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// TestMigrationsAreJudgedTogether: there is room for the copy of either database, and not for
// both, unless the copies of one from before its earlier migrations go.
func TestMigrationsAreJudgedTogether(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 130)
	var paths []string
	schemas := map[string]fs.FS{filepath.Join(disk.Dir, "absent.db"): migrationSet(second)}
	for _, name := range []string{"a.db", "b.db"} {
		path := filepath.Join(disk.Dir, name)
		db, _, err := opened(t, path, first)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.W.Exec(`INSERT INTO a VALUES (randomblob(10000000))`)
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		paths, schemas[path] = append(paths, path), migrationSet(second)
	}
	copied := paths[1] + ".before-0"
	if err := os.WriteFile(copied, make([]byte, 30<<20), 0o600); err != nil { // about 78 MB are free
		t.Fatal(err)
	}
	pending, err := FindPending(t.Context(), schemas)
	if err != nil || len(pending) != 2 || pending[0].Path != paths[0] || pending[1].Path != paths[1] {
		t.Fatalf("%v, %v", pending, err)
	}
	for _, alone := range pending {
		if err := MakeRoom([]Pending{alone}, MigrationReports{}); err != nil {
			t.Error(err)
		}
	}
	var reported []MigrationProgress
	err = MakeRoom(pending, MigrationReports{time.Hour, func(p MigrationProgress) { reported = append(reported, p) }})
	if err != nil || len(reported) != 1 || reported[0].Path != paths[1] || !slices.Equal(reported[0].Dropped, []string{copied}) {
		t.Errorf("%+v, %v", reported, err)
	}
	if err := os.WriteFile(filepath.Join(disk.Dir, "others"), make([]byte, 30<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	err = MakeRoom(pending, MigrationReports{})
	if !errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "a.db, b.db") || !strings.Contains(err.Error(), "takes 83 MB") {
		t.Errorf("without copies: %v", err)
	}
	entries, err := filepath.Glob(filepath.Join(disk.Dir, "*.db?*"))
	if err != nil || len(entries) > 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
