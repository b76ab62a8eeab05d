package syncer_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// Missing content of an old meeting is asked for as long as that of a new one, and
// found when it comes.
func TestContentOfOldMeetingsIsAwaitedForAWeek(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings, step = 30, 24 * time.Hour
		newest := rig.Today().Add(-30 * 24 * time.Hour)
		u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(meetings, newest, step)))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		const day = 24 * time.Hour
		time.Sleep(4*day + time.Hour)
		edit(t, u, 3, newest.Add(-(meetings-3)*step), "", "")
		time.Sleep(day)
		if c := meetingCounts(t, ar); c.WithTranscript != 1 {
			t.Errorf("a transcript came on the fifth day; after it %d are there", c.WithTranscript)
		}
		time.Sleep(2 * day)
		st, err := s.Status(t.Context())
		if err != nil || st.Accounts[0].ContentTasks != 0 || len(st.Failures) != 0 {
			t.Errorf("after a week: %+v, %v, %v", st.Accounts[0], st.Failures, err)
		}
		before := u.Wire.Count(func(c rig.Call) bool { return c.Heavy })
		time.Sleep(3 * day)
		if n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy }) - before; n > 0 {
			t.Errorf("after a week %d heavy calls", n)
		}
	})
}

// While the archive takes no content, as on a full disk, the limit of heavy calls is not spent in
// vain again and again. Afterwards the content is read before long.
func TestContentThatCannotBeStoredIsReadEverLessOften(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(9, newest, 4*24*time.Hour)))
		dir := archivetest.Dir(t)
		ar := rig.NewArchive(t, dir)
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Minute)
		db, err := sql.Open("sqlite3", filepath.Join(dir, "archive.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		exec := func(statement string) {
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		for _, action := range []string{"INSERT", "UPDATE"} {
			exec("CREATE TRIGGER full" + action + " BEFORE " + action + " ON marks WHEN new.key LIKE 'sync/ask/%' BEGIN SELECT RAISE(ABORT, 'no room'); END")
		}
		heavy := func(c rig.Call) bool { return c.Heavy }
		before := u.Wire.Count(heavy)
		time.Sleep(time.Hour)
		if n := u.Wire.Count(heavy) - before; n < 9 || n > 600 {
			t.Errorf("%d heavy calls within an hour", n)
		}
		exec("DROP TRIGGER fullINSERT")
		exec("DROP TRIGGER fullUPDATE")
		edit(t, u, 1, newest, "", "")
		time.Sleep(2 * time.Minute)
		if c := meetingCounts(t, ar); c.WithTranscript != 1 {
			t.Errorf("afterwards %d transcripts are there", c.WithTranscript)
		}
	})
}

// A meeting that is away while its content is awaited, and for longer, is asked for its content
// when it comes back.
func TestContentIsAwaitedAnewWhenTheMeetingComesBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, append(rig.Meetings(3, newest, time.Hour), withoutTranscripts(t, meetingOfBob(90, newest))...))
		shared := fmt.Sprintf(`{"recording_id": 90, "user": %q}`, rig.Person)
		share(t, u, shared)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		const day = 24 * time.Hour
		time.Sleep(day)
		if c := meetingCounts(t, ar); c.Meetings != 4 || c.WithTranscript != 3 {
			t.Fatalf("at first: %+v", c)
		}
		share(t, u)
		time.Sleep(12 * day)
		ob, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, time.Now(), meetingOfBob(90, newest))
		if err == nil {
			_, err = u.Archive.Apply(t.Context(), []archive.Observation{ob})
		}
		if err != nil {
			t.Fatal(err)
		}
		share(t, u, shared)
		time.Sleep(2 * day)
		if c := meetingCounts(t, ar); c.WithTranscript != 4 {
			t.Errorf("two days after it came back: %+v", c)
		}
	})
}

// A command does not wait for looks that the daemon makes with spare calls.
func TestSyncDoesNotWaitForSpareLooks(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-30 * 24 * time.Hour)
		u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(100, newest, 24*time.Hour)))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(24*time.Hour + time.Second)
		if st, err := s.Status(t.Context()); err != nil || st.Accounts[0].ContentTasksDue < 50 {
			t.Fatalf("%+v, %v", st.Accounts, err)
		}
		start := time.Now()
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if elapsed := time.Since(start); elapsed > 90*time.Second {
			t.Errorf("the command took %v", elapsed)
		}
		time.Sleep(10 * time.Minute)
		if st, err := s.Status(t.Context()); err != nil || st.Accounts[0].ContentTasksDue != 0 {
			t.Errorf("ten minutes later: %+v, %v", st.Accounts, err)
		}
	})
}

func withoutTranscripts(t *testing.T, raw []byte) []byte {
	t.Helper()
	raw = regexp.MustCompile(`"transcript":\[.*?\],"default`).ReplaceAll(raw, []byte(`"transcript":[],"default`))
	if bytes.Contains(raw, []byte("So it is")) {
		t.Fatal("the meetings have transcripts")
	}
	return raw
}
