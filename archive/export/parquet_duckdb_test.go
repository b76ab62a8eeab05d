package export

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// TestDuckDBReadsTheTables has another engine join the tables.
func TestDuckDBReadsTheTables(t *testing.T) {
	testrun.OnlyLong(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(cache, "minutebook", "@duckdb", "node-api", "node_modules")
	if !archivetest.Exists(modules) {
		t.Fatal("DuckDB is not here; make long should have installed it")
	}
	a, dir := archivetest.Sample(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, datedMeeting(1, "01", "One"))
	tables(t, a, dir)
	const script = `const {DuckDBInstance} = require('@duckdb/node-api');
(async () => {
	const c = await (await DuckDBInstance.create(':memory:')).connect();
	for (const sql of process.argv.slice(1)) {
		for (const row of (await c.runAndReadAll(sql)).getRows()) console.log(row.map(String).join('|'));
	}
})().catch(e => { console.error(e); process.exit(1); });`
	from := func(table string) string {
		return fmt.Sprintf("read_parquet('%s/%s/*/*.parquet', hive_partitioning = true, hive_types = {'month': VARCHAR})", dir, table)
	}
	cmd := exec.Command("node", "-e", script,
		"SELECT count(*) FROM "+from("meetings"),
		"SELECT m.month, m.title, e.text, p.name, i.description, m.recording_start_time FROM "+from("meetings")+" m JOIN "+from("entries")+" e USING (recording_id) JOIN "+
			from("people")+" p USING (recording_id) JOIN "+from("action_items")+" i USING (recording_id) WHERE recording_id = 1 AND p.spoke",
		"SELECT count(*) FROM "+from("entries"), "SELECT count(*) FROM "+from("people"), "SELECT count(*) FROM "+from("action_items"), documentedQuery(t, dir))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	counts, err := a.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var items int
	if err := a.DB().R.QueryRowContext(t.Context(), `SELECT count(*) FROM action_items`).Scan(&items); err != nil {
		t.Fatal(err)
	}
	months, err := os.ReadDir(filepath.Join(dir, "people"))
	if err != nil {
		t.Fatal(err)
	}
	people := 0 // as another library counts the rows; the archive has no such table
	for _, month := range months {
		people += len(readTable[PersonRow](t, dir, "people", strings.TrimPrefix(month.Name(), "month=")))
	}
	if people < counts.Meetings || items == 0 {
		t.Fatalf("%d people and %d action items in %d meetings", people, items, counts.Meetings)
	}
	want := fmt.Sprintf("%d\n2026-01|One|It's \"late\" — ½.|Ben|Go|2026-01-05 10:00:00\n%d\n%d\n%d\n", counts.Meetings, counts.Entries, people, items)
	if got := strings.ReplaceAll(string(out), "+00", ""); !strings.HasPrefix(got, want) || !strings.Contains(got[len(want):], "Ben|") {
		t.Errorf("%s\nnot\n%s, and the speakers", got, want)
	}
}

// documentedQuery returns the query of docs/parquet.md for the tables in a directory.
func documentedQuery(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/parquet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, query, found := strings.Cut(string(text), "```sql\n")
	query, _, ended := strings.Cut(query, "```")
	if !found || !ended {
		t.Fatal("docs/parquet.md has no query")
	}
	return strings.ReplaceAll(query, "'DIR/", "'"+dir+"/")
}
