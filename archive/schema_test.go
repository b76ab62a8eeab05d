package archive

import (
	"os"
	"regexp"
	"testing"
)

// TestDocumentedQueriesWork runs the queries of docs/schema.md as a reader's
// tool would.
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
}
