package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
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
	if err := db.Migrate(t.Context(), migrationSet(files), MigrationReports{}); err != nil {
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

// waiting are migrations of which one cannot be read until a channel is closed.
type waiting struct {
	fs.FS
	name  string
	until <-chan struct{}
}

func (w waiting) Open(name string) (fs.File, error) {
	if name == w.name {
		<-w.until
	}
	return w.FS.Open(name)
}

// TestMigrationReports migrates a database of 16 MB, with a second step that takes as long as the
// reports of it want: they say how far the copy is, and then the step and how long it takes.
func TestMigrationReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, _, err := opened(t, path, first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.W.Exec(`INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16) SELECT randomblob(1000000) FROM n`); err != nil {
		t.Fatal(err)
	}
	const last = "00003_c.sql"
	enough := make(chan struct{})
	proceed := sync.OnceFunc(func() { close(enough) })
	files := waiting{migrationSet(map[string]string{"00001_a.sql": first["00001_a.sql"], "00002_b.sql": "CREATE TABLE b (x TEXT);", last: second[last]}), last, enough}
	var stages []MigrationStage
	halfway, waited := 0, []time.Duration{}
	err = db.Migrate(t.Context(), files, MigrationReports{Interval: time.Millisecond, Report: func(p MigrationProgress) {
		stages = append(stages, p.Stage)
		if p.Path != path || p.To != 3 || p.Steps != 2 || p.Size < 16_000_000 || len(p.Dropped) > 0 {
			t.Errorf("reported %+v", p)
		}
		switch p.Stage {
		case CopyBegins:
			if p.Elapsed != 0 || p.Copied != 0 {
				t.Errorf("at the beginning: %+v", p)
			}
		case Copying:
			if 0 < p.Copied && p.Copied < p.Size && p.Elapsed > 0 {
				halfway++
			}
		case Migrating:
			if p.Step == 2 {
				waited = append(waited, p.Elapsed)
			}
			if len(waited) == 3 || len(stages) > 10_000 { // these were no reports of the step
				proceed()
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []MigrationStage{CopyBegins, Copying, Copied, Migrating, Migrated}; !slices.Equal(slices.Compact(stages), want) {
		t.Errorf("the stages were %v; want %v", stages, want)
	}
	if halfway == 0 || len(waited) < 3 || waited[0] <= 0 || !slices.IsSorted(waited) {
		t.Errorf("the copy was reported %d times, its last step at %v", halfway, waited)
	}
}

func TestRemainingTimeOfACopy(t *testing.T) {
	for _, c := range []struct {
		copied int64
		want   time.Duration
	}{{0, 0}, {10, 3 * time.Minute}, {40, 0}, {41, 0}} {
		p := MigrationProgress{Copied: c.copied, Size: 40, Elapsed: time.Minute}
		if got := p.Remaining(); got != c.want {
			t.Errorf("%d of 40 in a minute leave %v; want %v", c.copied, got, c.want)
		}
	}
}
