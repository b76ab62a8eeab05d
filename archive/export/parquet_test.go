package export

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// datedMeeting is a meeting in a month, with an invitee who speaks and an action item.
func datedMeeting(id int64, month, title string) []byte {
	return fmt.Appendf(nil, `{"recording_id": %d, "title": %q, "recording_start_time": "2026-%s-05T10:00:00Z", "recorded_by": {"name": "Ann", "email": "Ann@acme.example"},
		"calendar_invitees": [{"name": "Ben", "email": "ben@acme.example"}, {"name": "Cy", "email": null}],
		"transcript": [{"speaker": {"display_name": "Ben", "matched_calendar_invitee_email": "ben@acme.example"}, "text": "It's \"late\" — ½.", "timestamp": "00:00:02"}],
		"default_summary": {"markdown_formatted": "# S"},
		"action_items": [{"description": "Go", "user_generated": false, "completed": true, "recording_timestamp": "00:01:00", "assignee": {"name": "Ben", "email": null}}]}`, id, title, month)
}

func tables(t *testing.T, a *archive.Archive, dir string) Result {
	t.Helper()
	r, err := Run(t.Context(), a, Options{Dir: dir, Format: Parquet})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readTable[T any](t *testing.T, dir, table, month string) []T {
	t.Helper()
	rows, err := parquet.ReadFile[T](filepath.Join(dir, table, "month="+month, table+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestTablesByMonth(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, datedMeeting(1, "01", "One"), datedMeeting(3, "02", "Three"), datedMeeting(2, "02", "Two"), []byte(`{"recording_id": 9}`))
	if r := tables(t, a, dir); r.Meetings != 4 || r.Written != 12 {
		t.Errorf("%+v", r)
	}
	meetings := readTable[MeetingRow](t, dir, "meetings", "2026-02")
	if len(meetings) != 2 || meetings[0].RecordingID != 2 || meetings[0].Title != "Two" || meetings[0].Summary != "# S" || meetings[0].End != nil ||
		meetings[0].Start.Format(time.RFC3339) != "2026-02-05T10:00:00Z" || meetings[1].RecordingID != 3 || meetings[1].Words == 0 {
		t.Errorf("%+v", meetings)
	}
	if rows := readTable[EntryRow](t, dir, "entries", "2026-01"); !reflect.DeepEqual(rows, []EntryRow{{1, 0, 2, "Ben", "ben@acme.example", "It's \"late\" — ½."}}) {
		t.Errorf("%+v", rows)
	}
	if rows := readTable[PersonRow](t, dir, "people", "2026-01"); !reflect.DeepEqual(rows, []PersonRow{{1, "Ann", "ann@acme.example", true, false, false},
		{1, "Ben", "ben@acme.example", false, true, true}, {1, "Cy", "", false, true, false}}) {
		t.Errorf("%+v", rows)
	}
	if rows := readTable[ActionItemRow](t, dir, "action_items", "2026-01"); !reflect.DeepEqual(rows, []ActionItemRow{{1, 0, "Go", "Ben", "", 60, true, false}}) {
		t.Errorf("%+v", rows)
	}
	if rows := readTable[MeetingRow](t, dir, "meetings", noMonth); len(rows) != 1 || rows[0].RecordingID != 9 || rows[0].Start != nil {
		t.Errorf("%+v", rows)
	}
	if r := tables(t, a, dir); r.Written != 0 || r.Unchanged != 12 {
		t.Errorf("nothing has changed: %+v", r)
	}
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), datedMeeting(1, "01", "Changed"))
	if r := tables(t, a, dir); r.Written != 1 || readTable[MeetingRow](t, dir, "meetings", "2026-01")[0].Title != "Changed" {
		t.Errorf("a title has changed: %+v", r)
	}
	for _, id := range []int64{1, 2} {
		if _, err := a.Forget(t.Context(), id, "test"); err != nil {
			t.Fatal(err)
		}
	}
	if r := tables(t, a, dir); r.Written != 4 || r.Removed != 4 || len(readTable[EntryRow](t, dir, "entries", "2026-02")) != 1 {
		t.Errorf("two were forgotten: %+v", r)
	}
	if archivetest.Exists(filepath.Join(dir, "meetings", "month=2026-01", "meetings.parquet")) {
		t.Error("the file of a month without meetings is kept")
	}
}

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
		"SELECT count(*) FROM "+from("entries"))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	counts, err := a.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d\n2026-01|One|It's \"late\" — ½.|Ben|Go|2026-01-05 10:00:00\n%d\n", counts.Meetings, counts.Entries)
	if got := strings.ReplaceAll(string(out), "+00", ""); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}
