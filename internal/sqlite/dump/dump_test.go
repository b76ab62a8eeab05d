package dump

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

func TestMain(m *testing.M) { testrun.Main(m) }

// TestRepeat adds two copies of a database's rows to another one with a newer column.
func TestRepeat(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"small": `CREATE TABLE pages (id INTEGER PRIMARY KEY, book INTEGER NOT NULL, text TEXT); INSERT INTO pages VALUES (1, 7, 'a'), (2, 7, 'b');
			CREATE TABLE authors (name TEXT PRIMARY KEY); INSERT INTO authors VALUES ('Ann');`,
		"large": `CREATE TABLE pages (id INTEGER PRIMARY KEY, text TEXT, book INTEGER NOT NULL, seen INTEGER DEFAULT 1);
			CREATE TABLE authors (name TEXT PRIMARY KEY);`,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file+".sql", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Restore(file+".sql", file+".db"); err != nil {
			t.Fatal(err)
		}
	}
	large, small := filepath.Join(dir, "large.db"), filepath.Join(dir, "small.db")
	for _, copies := range []struct {
		first, last int64
		keys        Keys
	}{{0, 0, Keys{"authors": nil}}, {0, 1, Keys{"pages": {"id": 10, "book": 1}}}} {
		if err := Repeat(t.Context(), large, small, copies.first, copies.last, copies.keys); err != nil {
			t.Fatal(err)
		}
	}
	db := sqlite.Connect(large, "?mode=ro", nil)
	defer db.Close()
	got, err := sqlite.Column[string](t.Context(), db, `SELECT concat_ws(' ', id, book, text, seen) FROM pages UNION ALL SELECT name FROM authors`)
	if want := []string{"1 7 a 1", "2 7 b 1", "11 8 a 1", "12 8 b 1", "Ann"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
