package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/archive/media"
	"minutebook/internal/sqlite"
	"minutebook/internal/sqlite/frozen"
)

// TestEveryFrozenArchiveIsUpgraded opens archives as earlier versions left them: the schema is
// then that of a new archive, and their content is there and sound. A .json beside the file has
// its meetings as their version exported them; that of schema 20 is by 0.9.0.
func TestEveryFrozenArchiveIsUpgraded(t *testing.T) {
	fresh := newArchive(t)
	frozen.Each(t, func(t *testing.T, file, dir string) {
		must(t, errors.Join(os.Mkdir(filepath.Join(dir, "media"), 0o700), os.WriteFile(filepath.Join(dir, "media", media.OwnerName), nil, 0o600)))
		a := openArchive(t, dir)
		// Newer rules of merging, the two dates that only versions among several have, items
		// that say nothing, and how far walks are believed: an upgrade changes these.
		frozen.Compare(t, file, a.db, fresh.db, "info.value", "revisions.counts_at", "revisions.sharing_rank", "action_items", "walks.doubted")
		want := frozenMeetings(t, file)
		v, damages := verify(t, a, VerifyOptions{SkipMedia: true})
		for _, d := range damages {
			if d.Class != DamageFileMissing { // files are not in the frozen copy
				t.Error(d)
			}
		}
		if v.Meetings != len(want) {
			t.Errorf("%d meetings; want the %d that were in it", v.Meetings, len(want))
		}
		for id, raw := range want {
			if got, err := a.MeetingJSON(t.Context(), id); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("meeting %d: %v\n%s\nwant\n%s", id, err, got, raw)
			}
		}
	})
}

// frozenMeetings are the meetings of a frozen archive, by their ids.
func frozenMeetings(t *testing.T, file string) map[int64]json.RawMessage {
	t.Helper()
	f, err := os.Open(strings.TrimSuffix(file, ".sql") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	meetings, decoder := map[int64]json.RawMessage{}, json.NewDecoder(f)
	for {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return meetings
		} else if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID int64 `json:"recording_id"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		meetings[m.ID] = raw
	}
}

// TestAnArchiveOfTheFirstRelease: people see the same meetings as with 0.9.0, a forgotten one
// stays away, and it is known to whom a recording was refused.
func TestAnArchiveOfTheFirstRelease(t *testing.T) {
	a := openArchive(t, frozen.Directory(t, "0.9.0"))
	for email, want := range map[string][]int64{
		"maren.okafor@tidewell.example": {551186153, 469234221, 772592125, 400144927, 601327096}, "priya.raman@tidewell.example": {551186153, 400144927, 601327096},
		"lucia.ferrer@tidewell.example": {551186153, 400144927}, "ines.marchetti@tidewell.example": {551186153}, "bram.vos@tidewell.example": nil,
	} {
		rows, err := a.List(t.Context(), ListQuery{Viewer: Viewer{Emails: []string{email}}})
		var got []int64
		for _, row := range rows {
			got = append(got, row.RecordingID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s sees %v, %v; want %v", email, got, err, want)
		}
	}
	const secret = 259617491
	if _, err := a.Row(t.Context(), secret); !errors.Is(err, ErrForgotten) {
		t.Errorf("the forgotten meeting: %v", err)
	}
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(secret, "T", "hello")))
	if _, err := a.Row(t.Context(), secret); !errors.Is(err, ErrForgotten) {
		t.Errorf("the forgotten meeting, read again: %v", err)
	}
	if d, err := a.DownloadOf(t.Context(), 601327096); err != nil || !slices.Equal(d.ForbiddenTo, []string{"priya"}) {
		t.Errorf("the recording is %+v, %v", d, err)
	}
	items, err := columnOf(a.db, `SELECT position || ' ' || description FROM action_items WHERE recording_id = 469234221 ORDER BY position`)
	want := []string{"0 運河沿いの弁室用に延長アンテナを一式送る", "1 地震時に警報をまとめる機能を開発に依頼する（PLAT-918）"} // the first one of three said nothing
	if diff := cmp.Diff(want, items); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if head, err := a.Head(t.Context()); err != nil || head.Epoch != "97f298d55ca81fad46edcea8" {
		t.Errorf("the epoch is %s, %v: sessions and followers end", head.Epoch, err)
	}
	failures, err := a.Failures(t.Context(), true)
	if err != nil || len(failures) != 1 || failures[0].Reason != "the service answered 503" {
		t.Errorf("failures %+v, %v", failures, err)
	}
}

// TestAnInboxOfAnEarlierVersionSaysHowFar: that it is copied, and migrated, is in the log.
func TestAnInboxOfAnEarlierVersionSaysHowFar(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := openArchive(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(frozen.Directory(t, "1"), "inbox.db"), filepath.Join(dir, "inbox.db")); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := Open(t.Context(), Options{Dir: dir, Logger: zerolog.New(&log)})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	for _, message := range []string{"copying a database of an earlier version before it is migrated; to stop now changes nothing", "copied; the database is migrated now; to stop now changes nothing"} {
		if !regexp.MustCompile(`"database":"inbox.db".*"message":"` + regexp.QuoteMeta(message)).MatchString(log.String()) {
			t.Errorf("the log does not say %q:\n%s", message, &log)
		}
	}
}

// Each of these takes back a migration of archive.db, and those after it.
const (
	undo83 = `DROP TABLE former_terms; ALTER TABLE accounts DROP COLUMN owned_since; DELETE FROM goose_db_version WHERE version_id >= 83;`
	undo82 = undo83 + `DROP TABLE first_reads; DELETE FROM goose_db_version WHERE version_id = 82;`
	undo81 = undo82 + `ALTER TABLE downloads DROP COLUMN forbidden_to; DELETE FROM goose_db_version WHERE version_id = 81;`
)

// TestAMigrationSaysHowFar opens a large archive of an earlier version: the log has each stage,
// and how far the copy is and how long the rest takes, or which step is under way for how long.
func TestAMigrationSaysHowFar(t *testing.T) {
	dir := t.TempDir()
	if err := openArchive(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	damageDatabase(t, filepath.Join(dir, "archive.db"), undo82+`
		CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16) SELECT randomblob(1000000) FROM n`)
	var log bytes.Buffer
	a, err := Open(t.Context(), Options{Dir: dir, Logger: zerolog.New(&log), ReportInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	must(t, a.Close())
	var got []string
	for _, line := range strings.Split(log.String(), "\n") {
		if message := regexp.MustCompile(`"database":"archive.db".*"message":"(\w+)`).FindStringSubmatch(line); message != nil && message[1] != "migrating" {
			got = append(got, message[1])
		}
	}
	if diff := cmp.Diff([]string{"copying", "copied", "migrated"}, slices.Compact(got)); diff != "" || strings.Count(log.String(), `"message":"copying"`) == 0 {
		t.Errorf("%s\n%s", diff, &log)
	}

	log.Reset()
	a = &Archive{log: zerolog.New(&log)}
	p := sqlite.MigrationProgress{Path: "/data/notes.db", To: 9, Size: 40, Steps: 3, Dropped: []string{"/data/notes.db.before-1"}}
	for stage := sqlite.CopiesDropped; stage <= sqlite.Migrated; stage++ {
		if p.Stage = stage; stage == sqlite.Copying {
			p.Copied, p.Elapsed = 10, time.Minute
		}
		a.logMigration(p)
		if p.Step = 2; stage == sqlite.Copying {
			p.Copied = 40 // as while the whole copy is synced
			a.logMigration(p)
		}
	}
	want := `{"level":"warn","database":"notes.db","copies":["/data/notes.db.before-1"],"message":"the disk had no room for another copy of a database: those from before earlier upgrades are deleted"}
{"level":"info","database":"notes.db","schema":9,"bytes":40,"message":"copying a database of an earlier version before it is migrated; to stop now changes nothing"}
{"level":"info","database":"notes.db","copied":10,"bytes":40,"remaining":180000,"message":"copying"}
{"level":"info","database":"notes.db","copied":40,"bytes":40,"remaining":0,"message":"copying"}
{"level":"info","database":"notes.db","took":60000,"message":"copied; the database is migrated now; to stop now changes nothing"}
{"level":"info","database":"notes.db","elapsed":60000,"step":2,"steps":3,"message":"migrating"}
{"level":"info","database":"notes.db","took":60000,"message":"migrated"}
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Error(diff)
	}
}

// TestFirstReadsOfAnEarlierVersion opens an archive of the schema before first_reads: a list
// is read since it first showed a meeting that is still here, or since its last complete walk, in both
// cases to its account's present holder.
func TestFirstReadsOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	damageDatabase(t, filepath.Join(dir, "archive.db"), undo82+`
		INSERT INTO accounts (name, holder, email, credential, since) VALUES ('anna', 1, '', '', 900), ('bob', 2, '', '', 500);
		INSERT INTO sightings (recording_id, account, query, first_at, last_at, holder) VALUES
			(1, 'anna', '', 300, 400, 1), (2, 'anna', '', 200, 400, 1), (2, 'anna', 'teams:x', 350, 400, 1),
			(1, 'bob', '', 100, 600, 2), (3, 'bob', 'teams:x', 100, 100, 1), (1, 'cy', '', 50, 50, 1);
		INSERT INTO walks (account, query, begun, completed, ended_at) VALUES
			('anna', '', 9, 9, 800), ('anna', 'empty', 9, 9, 700), ('bob', 'empty', 9, 9, 600), ('bob', 'left', 9, 9, 400), ('anna', 'begun', 1, 0, NULL)`)
	got, err := columnOf(openArchive(t, dir).db, `SELECT account || '/' || query || ' ' || holder || ' ' || at FROM first_reads ORDER BY account, query`)
	want := []string{"anna/ 1 200", "anna/empty 1 700", "anna/teams:x 1 350", "bob/ 2 500", "bob/empty 2 600", "cy/ 1 50"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestRefusalsOfAnEarlierVersion opens an archive of the schema before forbidden_to: a refusal may
// have forbidden the recording, unless there is none.
func TestRefusalsOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	if err := openArchive(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	damageDatabase(t, filepath.Join(dir, "archive.db"), undo81+`
		INSERT INTO downloads (recording_id, state, due_at, refused_by) VALUES
			(1, 'done', 0, '["dan"]'), (2, 'refused', 0, '["dan","eve"]'), (3, 'none', 0, '["dan"]'), (4, 'done', 0, '[]')`)
	got, err := columnOf(openArchive(t, dir).db, `SELECT recording_id || ' ' || forbidden_to FROM downloads ORDER BY recording_id`)
	want := []string{`1 ["dan"]`, `2 ["dan","eve"]`, "3 []", "4 []"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
