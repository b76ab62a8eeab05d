// Package frozen restores databases as earlier versions left them, for the tests of
// upgrades. A package with a database has them as SQL, testdata/schemas/VERSION.sql: the files
// of a version were one data directory. Those of no release are of schemas before the first.
package frozen

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/sqlite"
	"minutebook/internal/sqlite/dump"
)

// schemas is the folder of the frozen files in a package with a database.
const schemas = "testdata/schemas"

// folders are the packages with a database, by its name.
var folders = map[string]string{
	"archive.db": "archive", "inbox.db": "archive/inbox", "notes.db": "archive/notes", "service.db": "service", "access.db": "web/access",
}

// Each runs a test for each frozen file of the package under test, in a data directory with
// its database and those of the same version.
func Each(t *testing.T, test func(t *testing.T, file, dir string)) {
	files, err := fs.Glob(os.DirFS("."), schemas+"/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("frozen files: %v, %v", files, err)
	}
	for _, file := range files {
		version := strings.TrimSuffix(filepath.Base(file), ".sql")
		t.Run(version, func(t *testing.T) { test(t, file, Directory(t, version)) })
	}
}

// Directory returns a new data directory with all databases of a version.
func Directory(t testing.TB, version string) string {
	t.Helper()
	dir := t.TempDir()
	for name, folder := range folders {
		file := filepath.Join(root(t), folder, schemas, version+".sql")
		if _, err := os.Stat(file); err == nil {
			if err := dump.Restore(file, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// root returns the folder of the module.
func root(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 20; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no folder above has a go.mod")
	return ""
}

// Compare fails the test unless the database that was restored from a file and upgraded has
// the schema of a new one, and all rows of the file in the columns that both have. but names
// the places that an upgrade changes: as TABLE or TABLE.COLUMN.
func Compare(t testing.TB, file string, upgraded, fresh *sqlite.DB, but ...string) {
	t.Helper()
	const schema = `SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name`
	got, want := column(t, upgraded, schema), column(t, fresh, schema)
	if !slices.Equal(got, want) {
		t.Errorf("the schema is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	path := filepath.Join(t.TempDir(), "frozen.db")
	err := dump.Restore(file, path)
	if err != nil {
		t.Fatal(err)
	}
	old, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := old.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := old.W.ExecContext(t.Context(), `ATTACH ? AS upgraded`, upgraded.Path); err != nil {
		t.Fatal(err)
	}
	tables, err := sqlite.Column[string](t.Context(), old.W, `SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if !slices.Contains(but, table) {
			compareRows(t, old, table, but)
		}
	}
}

// compareRows fails the test for each row of a table of old that the attached database lacks.
func compareRows(t testing.TB, old *sqlite.DB, table string, but []string) {
	t.Helper()
	columns, err := sqlite.Column[string](t.Context(), old.W, `SELECT name FROM pragma_table_info(?1, 'main')
		INTERSECT SELECT name FROM pragma_table_info(?1, 'upgraded')`, table)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range columns {
		if !slices.Contains(but, table+"."+name) {
			values = append(values, fmt.Sprintf(`'%s=' || quote("%s")`, name, name))
		}
	}
	if len(values) == 0 {
		t.Errorf("table %s is not there any more", table)
		return
	}
	row := strings.Join(values, ` || ' ' || `)
	lost, err := sqlite.Column[string](t.Context(), old.W, fmt.Sprintf(`SELECT %s FROM main."%s" EXCEPT SELECT %s FROM upgraded."%s"`, row, table, row, table))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lost {
		t.Errorf("%s has no more %.500s", table, l)
	}
}

func column(t testing.TB, db *sqlite.DB, query string) []string {
	t.Helper()
	values, err := sqlite.Column[string](t.Context(), db.R, query)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
