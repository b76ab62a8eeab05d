package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// TestEveryTableIsDocumented compares the tables of each database with the rows of its section
// of docs/schema.md.
func TestEveryTableIsDocumented(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	raw, err := os.ReadFile("../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	_, document, _ := strings.Cut(string(raw), "\n## ")
	documented := map[string][]string{}
	for section := range strings.SplitSeq(document, "\n## ") {
		name, text, _ := strings.Cut(section, "\n")
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*)\\|").FindAllStringSubmatch(text, -1) {
			for _, table := range inline.FindAllStringSubmatch(row[1], -1) {
				documented[name] = append(documented[name], table[1])
			}
		}
	}
	for _, path := range everyDatabase(t) {
		// The tables in which a virtual one keeps its rows are shadows.
		const query = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`
		db := sqlite.Connect(path, "?mode=ro", nil)
		tables, err := sqlite.Column[string](t.Context(), db, query)
		db.Close()
		if err != nil || len(tables) == 0 {
			t.Fatalf("%s: tables %q, %v", path, tables, err)
		}
		name := filepath.Base(path)
		slices.Sort(tables)
		slices.Sort(documented[name])
		if !slices.Equal(tables, documented[name]) {
			t.Errorf("docs/schema.md has for %s the tables\n%q, not\n%q", name, documented[name], tables)
		}
	}
}
