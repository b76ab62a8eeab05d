package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

func migrationSet(files map[string]string) fs.FS {
	set := fstest.MapFS{}
	for name, up := range files {
		set[name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + up)}
	}
	return set
}

var (
	first  = map[string]string{"00001_a.sql": "CREATE TABLE a (x TEXT);"}
	second = map[string]string{"00001_a.sql": first["00001_a.sql"], "00003_c.sql": "ALTER TABLE a ADD COLUMN y TEXT DEFAULT 'new';"}
	broken = map[string]string{"00001_a.sql": first["00001_a.sql"], "00002_b.sql": "CREATE TABLE b (x TEXT); INSERT INTO a (x) VALUES ('half');",
		"00003_c.sql": second["00003_c.sql"] + " INSERT INTO nowhere VALUES (1);"}
)

// opened opens a database with a set of migrations, and reads table a.
func opened(t *testing.T, path string, files map[string]string) (*DB, []string, error) {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Migrate(t.Context(), migrationSet(files), nil); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	content, err := Column[string](t.Context(), db.R, `SELECT x FROM a`)
	return db, content, err
}

func TestMigrationKeepsACopyAndContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, _, err := opened(t, path, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(`INSERT INTO a VALUES ('old')`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if db, _, err = opened(t, path, second); err != nil {
		t.Fatal(err)
	}
	got, err := Column[string](t.Context(), db.R, `SELECT x || y FROM a`)
	if err != nil || len(got) != 1 || got[0] != "oldnew" {
		t.Fatalf("after migrating: %v, %v", got, err)
	}
	db.Close()
	info, err := os.Stat(path + ".before-1")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("copy: %v, %v", info, err)
	}
	if _, got, err = opened(t, path+".before-1", first); err != nil || len(got) != 1 || got[0] != "old" {
		t.Fatalf("the old version reads of the copy %v, %v", got, err)
	}
	if _, _, err := opened(t, path, first); !errors.Is(err, ErrNewer) {
		t.Fatalf("the old version opened a newer database: %v", err)
	}
}

func TestFailedMigrationLeavesTheOldVersionUsable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, _, err := opened(t, path, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(`INSERT INTO a VALUES ('old')`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for range 2 {
		if _, _, err := opened(t, path, broken); err == nil {
			t.Fatal("a broken migration went through")
		}
		if _, got, err := opened(t, path, first); err != nil || len(got) != 1 || got[0] != "old" {
			t.Fatalf("the old version reads %v, %v", got, err)
		}
		// as a crash in the middle leaves it
		if err := os.WriteFile(path+".migrating", []byte("half a copy"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := opened(t, path, second); err != nil {
		t.Fatalf("after a crash, with the migration mended: %v", err)
	}
	if _, err := os.Stat(path + ".migrating"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy that was worked on is still there: %v", err)
	}
}

func TestMigrationsOfOtherRoomsComeInAnyOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if _, _, err := opened(t, path, second); err != nil {
		t.Fatal(err)
	}
	third := map[string]string{"00001_a.sql": second["00001_a.sql"], "00002_b.sql": "CREATE TABLE b (x TEXT);", "00003_c.sql": second["00003_c.sql"]}
	db, _, err := opened(t, path, third)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Column[string](t.Context(), db.R, `SELECT x FROM b`); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationReports tells of a copy at its beginning and its end, and refuses one that
// has no room.
func TestMigrationReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, _, err := opened(t, path, first)
	if err != nil {
		t.Fatal(err)
	}
	var got []MigrationProgress
	if err := db.Migrate(t.Context(), migrationSet(second), func(p MigrationProgress) { got = append(got, p) }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Elapsed != 0 || got[0].Copied != 0 || got[0].Size == 0 || got[1].Copied != got[1].Size || got[1].To != 3 {
		t.Errorf("reported %+v", got)
	}
	half := MigrationProgress{Copied: 10, Size: 40, Elapsed: time.Minute}
	if left := half.Remaining(); left != 3*time.Minute {
		t.Errorf("a quarter in a minute leaves %v", left)
	}
	if err := checkRoom(path, 1<<62); !errors.Is(err, ErrDiskFull) {
		t.Errorf("a copy larger than the disk: %v", err)
	}
	if err := checkRoom(path, 1); err != nil {
		t.Error(err)
	}
}
