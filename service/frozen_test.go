package service

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

// TestEveryFrozenSchemaIsUpgraded opens service.db as each frozen version left
// it, in testdata/schemas as SQL: the schema is then that of a new one, and the
// administrator who was in it is there.
func TestEveryFrozenSchemaIsUpgraded(t *testing.T) {
	want := schemaOf(t, openFrozen(t, ""))
	files, err := filepath.Glob("testdata/schemas/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("frozen schemas %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := openFrozen(t, file)
			if diff := cmp.Diff(want, schemaOf(t, s)); diff != "" {
				t.Error(diff)
			}
			if key, created, err := s.EnsureAdminKey(t.Context()); created || err != nil {
				t.Errorf("the administrator was not there: made %t, key of %d bytes, %v", created, len(key), err)
			}
			if s.AdminEmail() != "admin@sandbox.example" {
				t.Errorf("the administrator is %q", s.AdminEmail())
			}
		})
	}
}

// openFrozen opens a service over a frozen database, or a new one.
func openFrozen(t *testing.T, file string) *Service {
	t.Helper()
	dir := t.TempDir()
	if file != "" {
		if err := openTestArchive(t, dir).Close(); err != nil { // service.db is never alone
			t.Fatal(err)
		}
		frozen, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite3", filepath.Join(dir, "service.db"))
		if err == nil {
			_, err = db.Exec(string(frozen))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(t.Context(), Options{Archive: openTestArchive(t, dir), Sandbox: true, AllowPrivate: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func schemaOf(t *testing.T, s *Service) []string {
	t.Helper()
	rows, err := s.store.db.R.Query(`SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}
