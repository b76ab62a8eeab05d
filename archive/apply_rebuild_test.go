package archive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
)

// dumpDatabase returns the whole content of a database, table by table.
func dumpDatabase(t interface{ Fatal(...any) }, db *sqlite.DB) map[string][]string {
	tables, err := columnOf(db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]string{}
	for _, table := range tables {
		columns, err := columnOf(db, `SELECT group_concat('quote("' || name || '")', ' || '','' || ') FROM pragma_table_info('`+table+`')`)
		if err != nil {
			t.Fatal(err)
		}
		if content[table], err = columnOf(db, `SELECT `+columns[0]+` FROM "`+table+`" ORDER BY 1`); err != nil {
			t.Fatal(err)
		}
	}
	return content
}

func columnOf(db *sqlite.DB, query string) ([]string, error) {
	return sqlite.Column[string](context.Background(), db.R, query)
}

// filledArchive returns an archive with a bit of everything.
func filledArchive(t *testing.T) *Archive {
	t.Helper()
	a := newArchive(t)
	for id := int64(1); id <= 5; id++ {
		o := observe(t, SourceList, epoch0, meetingJSON(id, "T", fmt.Sprint("hello ", id)))
		w := observe(t, SourceWebhook, epoch0, []byte(fmt.Sprintf(`{"recording_id": %d, "meeting_url": "https://x.example", "title": ""}`, id)))
		apply(t, a, o, w)
	}
	blob, err := a.Media().Put(t.Context(), strings.NewReader("a recording, of a kind"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.AttachMedia(t.Context(), 2, MediaAudio, blob); err != nil {
		t.Fatal(err)
	}
	apply(t, a, observe(t, SourceList, epoch0.Add(2*time.Hour), meetingJSON(1, "T2", "changed")))
	walkTwice(t, a, "main", "", 1)
	return a
}

func TestRebuildChangesNothingInAWellArchive(t *testing.T) {
	a := filledArchive(t)
	before := dumpDatabase(t, a.db)
	if err := a.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, dumpDatabase(t, a.db)); diff != "" {
		t.Fatal(diff)
	}
}

func TestRebuildMakesDamagedRowsAgain(t *testing.T) {
	a := filledArchive(t)
	before := dumpDatabase(t, a.db)
	for _, damage := range []string{
		`DELETE FROM entries WHERE id % 2 = 0`, `UPDATE entries SET text = 'other'`,
		`INSERT INTO entries (id, offset_seconds, speaker_id, text) SELECT 77 << 20, 0, min(id), 'loose' FROM speakers`,
		`UPDATE meetings SET title = 'x', words = 9, gone_at = 5, has_video = 1, has_highlights = 1`,
		`DELETE FROM meeting_speakers WHERE recording_id = 2`, `INSERT INTO speakers (name, email) VALUES ('Nobody', '')`,
		`DELETE FROM invitees`, `DELETE FROM summaries`, `UPDATE action_items SET description = ''`, `DELETE FROM crm_matches`,
		`INSERT INTO highlights VALUES (1, 0, 'x', 'x', 0, 0, 'x')`, `INSERT INTO invitees SELECT 99, 0, '', '', '', 0, ''`,
		`UPDATE revisions SET read_at = 5, told_at = 6`,
	} {
		if _, err := a.db.W.Exec(damage); err != nil {
			t.Fatalf("%s: %v", damage, err)
		}
	}
	if err := a.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, dumpDatabase(t, a.db)); diff != "" {
		t.Fatal(diff)
	}
}

func TestRebuildDecidesLostPartsAgainAndTellsFollowers(t *testing.T) {
	a := filledArchive(t)
	before := dumpDatabase(t, a.db)
	head, _ := a.Head(t.Context())
	if _, err := a.db.W.Exec(`DELETE FROM parts WHERE recording_id = 1; UPDATE parts SET folded = NULL WHERE recording_id = 2`); err != nil {
		t.Fatal(err)
	}
	if err := a.Rebuild(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	after := dumpDatabase(t, a.db)
	changes, err := a.Changes(t.Context(), head, 100)
	logged := map[int64]bool{}
	for _, c := range changes {
		logged[c.RecordingID] = true
	}
	if err != nil || !maps.Equal(logged, map[int64]bool{1: true, 2: true}) {
		t.Errorf("followers were told of %v, %v; want 1 and 2", logged, err)
	}
	delete(before, "changes")
	delete(after, "changes")
	before["parts"] = slices.DeleteFunc(before["parts"], func(row string) bool { return strings.HasSuffix(row, "NULL,NULL") && row[0] == '1' })
	if diff := cmp.Diff(before, after); diff != "" {
		t.Fatal(diff)
	}
}

// TestRebuildAgreesWithApply: deciding part by part as things arrive and
// deciding over all versions at once end the same.
func TestRebuildAgreesWithApply(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := drawArchive(t)
	rapid.Check(t, func(rt *rapid.T) {
		clearArchive(rt, a)
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			batch := rapid.SliceOfN(rapid.Custom(drawObservation), 1, 6).Draw(rt, "batch")
			if _, err := a.Apply(t.Context(), batch); err != nil {
				rt.Fatal(err)
			}
		}
		before := dumpDatabase(rt, a.db)
		if err := a.Rebuild(t.Context(), nil); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(before, dumpDatabase(rt, a.db)); diff != "" {
			rt.Fatal(diff)
		}
	})
}
