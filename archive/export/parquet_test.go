package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/parquet-go/parquet-go"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/generation"
	"minutebook/internal/bucket"
	"minutebook/internal/s3test"
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

func tables(t *testing.T, a *archive.Archive, place string) Result {
	t.Helper()
	r, err := Run(t.Context(), a, Options{Dir: place, Format: Parquet})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tablePlace(t *testing.T, name string) generation.Place {
	t.Helper()
	p, err := generation.OpenPlace(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readTable[T any](t *testing.T, place, table, month string) []T {
	t.Helper()
	r, err := tablePlace(t, place).Open(t.Context(), table+"/month="+month+"/"+table+".parquet")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[T](bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// eachTablePlace runs a test with a directory and with a prefix in a bucket.
func eachTablePlace(t *testing.T, run func(t *testing.T, place string)) {
	t.Helper()
	server := s3test.Start(t)
	t.Run("directory", func(t *testing.T) { run(t, filepath.Join(t.TempDir(), "tables")) })
	t.Run("bucket", func(t *testing.T) { run(t, server.URL("recordings", "tables")) })
}

func TestTablesByMonth(t *testing.T) {
	testrun.SkipUnderRace(t)
	eachTablePlace(t, exportByMonth)
}

func exportByMonth(t *testing.T, place string) {
	a := archivetest.New(t)
	archivetest.Apply(t, a, archivetest.Epoch, datedMeeting(1, "01", "One"), datedMeeting(3, "02", "Three"), datedMeeting(2, "02", "Two"), []byte(`{"recording_id": 9}`))
	if r := tables(t, a, place); r.Meetings != 4 || r.Written != 12 {
		t.Errorf("%+v", r)
	}
	meetings := readTable[MeetingRow](t, place, "meetings", "2026-02")
	if len(meetings) != 2 || meetings[0].RecordingID != 2 || meetings[0].Title != "Two" || meetings[0].Summary != "# S" || meetings[0].End != nil ||
		meetings[0].Start.Format(time.RFC3339) != "2026-02-05T10:00:00Z" || meetings[1].RecordingID != 3 || meetings[1].Words == 0 {
		t.Errorf("%+v", meetings)
	}
	if rows := readTable[EntryRow](t, place, "entries", "2026-01"); !reflect.DeepEqual(rows, []EntryRow{{1, 0, 2, "Ben", "ben@acme.example", "It's \"late\" — ½."}}) {
		t.Errorf("%+v", rows)
	}
	if rows := readTable[PersonRow](t, place, "people", "2026-01"); !reflect.DeepEqual(rows, []PersonRow{{1, "Ann", "ann@acme.example", true, false, false},
		{1, "Ben", "ben@acme.example", false, true, true}, {1, "Cy", "", false, true, false}}) {
		t.Errorf("%+v", rows)
	}
	if rows := readTable[ActionItemRow](t, place, "action_items", "2026-01"); !reflect.DeepEqual(rows, []ActionItemRow{{1, 0, "Go", "Ben", "", new(60.0), true, false}}) {
		t.Errorf("%+v", rows)
	}
	if rows := readTable[MeetingRow](t, place, "meetings", noMonth); len(rows) != 1 || rows[0].RecordingID != 9 || rows[0].Start != nil {
		t.Errorf("%+v", rows)
	}
	if r := tables(t, a, place); r.Written != 0 || r.Unchanged != 12 {
		t.Errorf("nothing has changed: %+v", r)
	}
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), datedMeeting(1, "01", "Changed"))
	if r := tables(t, a, place); r.Written != 1 || readTable[MeetingRow](t, place, "meetings", "2026-01")[0].Title != "Changed" {
		t.Errorf("a title has changed: %+v", r)
	}
	for _, id := range []int64{1, 2} {
		if _, err := a.Forget(t.Context(), id, "test"); err != nil {
			t.Fatal(err)
		}
	}
	if r := tables(t, a, place); r.Written != 4 || r.Removed != 4 || len(readTable[EntryRow](t, place, "entries", "2026-02")) != 1 {
		t.Errorf("two were forgotten: %+v", r)
	}
	left, err := tablePlace(t, place).Files(t.Context(), "meetings")
	if err != nil || len(left) != 2 {
		t.Errorf("the files of a month without meetings are kept: %v, %v", left, err)
	}
}

// A meeting that is forgotten after its month was written is in no table at the end.
func TestTablesHaveNothingOfAMeetingForgottenMeanwhile(t *testing.T) {
	testrun.SkipUnderRace(t)
	eachTablePlace(t, forgetMeanwhile)
}

func forgetMeanwhile(t *testing.T, place string) {
	a := archivetest.New(t)
	archivetest.Apply(t, a, archivetest.Epoch, datedMeeting(1, "01", "One"), datedMeeting(2, "02", "Two"), datedMeeting(3, "02", "Three"), datedMeeting(4, "03", "Four"))
	r, err := Run(t.Context(), a, Options{Dir: place, Format: Parquet, Progress: func(done int) {
		if done < 4 {
			return
		}
		for _, id := range []int64{3, 4} {
			if _, err := a.Forget(t.Context(), id, "asked for"); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || r.Meetings != 2 || r.Removed != len(tableNames) {
		t.Errorf("exported %+v, %v", r, err)
	}
	if rows := readTable[MeetingRow](t, place, "meetings", "2026-02"); len(rows) != 1 || rows[0].RecordingID != 2 {
		t.Errorf("February has %v", rows)
	}
	if left, err := tablePlace(t, place).Files(t.Context(), "meetings"); err != nil || len(left) != 2 {
		t.Errorf("March is still there: %v, %v", left, err)
	}
	if again := tables(t, a, place); again.Written != 0 || again.Removed != 0 {
		t.Errorf("the next export: %+v", again)
	}
}

// A table is not replaced before the list forgets its former content: a program that is killed
// between the two would take it for the former one, where the meetings become again as they were.
func TestTablesAreOffTheListBeforeTheyAreReplaced(t *testing.T) {
	a, place := archivetest.New(t), t.TempDir()
	completed := func(at time.Duration, is bool) {
		archivetest.Apply(t, a, archivetest.Epoch.Add(at), bytes.ReplaceAll(datedMeeting(1, "01", "One"), []byte(`"completed": true`), fmt.Appendf(nil, `"completed": %t`, is)))
	}
	completed(0, true)
	tables(t, a, place)
	list := filepath.Join(place, tableListName)
	kept := list + ".kept"
	completed(time.Hour, false)
	_, err := Run(t.Context(), a, Options{Dir: place, Format: Parquet, Progress: func(int) {
		if err := errors.Join(os.Rename(list, kept), os.MkdirAll(filepath.Join(list, "in the way"), 0o700)); err != nil {
			t.Error(err)
		}
	}})
	if err == nil {
		t.Fatal("the list could be written")
	}
	if err := errors.Join(os.RemoveAll(list), os.Rename(kept, list)); err != nil {
		t.Fatal(err)
	}
	completed(2*time.Hour, true)
	tables(t, a, place)
	if rows := readTable[ActionItemRow](t, place, "action_items", "2026-01"); len(rows) != 1 || !rows[0].Completed {
		t.Errorf("%+v", rows)
	}
}

// TestTablesStayWithTheirArchive exports another archive, and another copy of the same
// one, over the tables of an archive: both are refused and change nothing. A file that was
// removed or cut short there comes back.
func TestTablesStayWithTheirArchive(t *testing.T) {
	testrun.SkipUnderRace(t)
	eachTablePlace(t, func(t *testing.T, place string) {
		a, other, p := archivetest.New(t), archivetest.New(t), tablePlace(t, place)
		archivetest.Apply(t, a, archivetest.Epoch, datedMeeting(1, "01", "One"))
		archivetest.Apply(t, other, archivetest.Epoch, datedMeeting(2, "02", "Two"))
		tables(t, a, place)
		if _, err := Run(t.Context(), other, Options{Dir: place, Format: Parquet}); err == nil || !strings.Contains(err.Error(), "of another archive") {
			t.Errorf("another archive exports to the same place: %v", err)
		}
		for name, size := range map[string]int64{"entries/month=2026-01/entries.parquet": 0, "people/month=2026-01/people.parquet": 7} {
			if err := p.Remove(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			if size > 0 {
				if err := p.Write(t.Context(), name, func(w io.Writer) error { _, err := w.Write(make([]byte, size)); return err }); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := p.Write(t.Context(), "meetings/notes.txt", func(w io.Writer) error { _, err := w.Write([]byte("a person's own")); return err }); err != nil {
			t.Fatal(err)
		}
		if r := tables(t, a, place); r.Written != 2 || r.Unchanged != 2 || r.Removed != 0 {
			t.Errorf("two files were damaged there: %+v", r)
		}
		if got := readTable[EntryRow](t, place, "entries", "2026-01"); len(got) != 1 {
			t.Errorf("entries %+v", got)
		}
		key, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		sealed := Options{Dir: place, Format: Parquet, Recipients: []age.Recipient{key.Recipient()}}
		if r, err := Run(t.Context(), a, sealed); err != nil || r.Written != 4 || r.Removed != 4 {
			t.Errorf("with encryption from now on: %+v, %v", r, err)
		}
		if r, err := Run(t.Context(), a, sealed); err != nil || r.Unchanged != 4 {
			t.Errorf("nothing has changed: %+v, %v", r, err)
		}
		if left, err := filepath.Glob(filepath.Join(a.Dir(), ".tmp-*")); err != nil || left != nil {
			t.Errorf("in the data directory is left %q, %v", left, err)
		}
	})
}

// TestTablesWhenTheBucketVanishes takes the bucket away after each number of calls: the
// export says why it fails, the next one completes it, and no part of an upload is left.
func TestTablesWhenTheBucketVanishes(t *testing.T) {
	testrun.SkipUnderRace(t)
	var calls atomic.Int64 // that the bucket still answers
	healthy := s3test.Start(t)
	server := healthy.Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls.Add(-1) < 0 {
				s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	a, place := archivetest.New(t), server.URL("recordings", "tables")
	archivetest.Apply(t, a, archivetest.Epoch, datedMeeting(1, "01", "One"), datedMeeting(2, "02", "Two"))
	for n := int64(0); ; n += 3 {
		archivetest.Apply(t, a, archivetest.Epoch.Add(time.Duration(n+1)*time.Hour), datedMeeting(1, "01", fmt.Sprint("Title ", n)))
		calls.Store(n)
		_, err := Run(t.Context(), a, Options{Dir: place, Format: Parquet})
		if err == nil && calls.Load() >= 0 {
			break
		}
		if err != nil && (!bucket.IsUnavailable(err) || !strings.Contains(err.Error(), "give the user of the credentials the right")) {
			t.Errorf("after %d calls: %v", n, err)
		}
	}
	calls.Store(1 << 40) // for good
	if r := tables(t, a, place); r.Unchanged != 8 {
		t.Errorf("after a whole export: %+v", r)
	}
	healthy.LeavePart(t, "tables/entries/month=2026-01/entries.parquet", make([]byte, 5<<20))
	healthy.LeavePart(t, "tables/others.bin", make([]byte, 5<<20))
	tables(t, a, place)
	if left := healthy.Uploads(t); !slices.Equal(left, []string{"tables/others.bin"}) {
		t.Errorf("unfinished uploads %q", left)
	}
	healthy.Abort(t, "tables/others.bin")
	if objects := healthy.Objects(t, "tables"); len(objects) != 9 {
		t.Errorf("in the bucket are %q", objects)
	}
}
