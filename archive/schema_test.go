package archive

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedQueriesWork runs the queries of docs/schema.md as a reader's
// tool would, and sees that it names every table.
func TestDocumentedQueriesWork(t *testing.T) {
	doc, err := os.ReadFile("../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	a := filledArchive(t)
	queries := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(queries) < 10 {
		t.Fatalf("%d queries; want ten", len(queries))
	}
	for _, q := range queries {
		rows, err := a.db.R.Query(q[1])
		if err != nil {
			t.Errorf("%v\n%s", err, q[1])
			continue
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%v\n%s", err, q[1])
		}
		rows.Close()
	}
	tables, err := columnOf(a.db, `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range slices.DeleteFunc(tables, func(s string) bool { return s == "goose_db_version" }) {
		if !strings.Contains(string(doc), "`"+table+"`") {
			t.Errorf("docs/schema.md does not name %s", table)
		}
	}
}
