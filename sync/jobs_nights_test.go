package syncer_test

import (
	"errors"
	"net/http"
	"strings"
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

// edit changes a meeting in the service, as its owner would.
func edit(t *testing.T, u *rig.Upstream, id int64, created time.Time, old, new string) {
	t.Helper()
	addMeeting(t, u, []byte(strings.ReplaceAll(string(rig.Meeting(id, created)), old, new)))
}

// addMeeting has the service show a meeting, or a known one as it is now.
func addMeeting(t *testing.T, u *rig.Upstream, raw []byte) {
	t.Helper()
	ob, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, time.Now(), raw)
	if err != nil {
		t.Fatal(err)
	}
	ob.Query = "edits" // the plain list would decide who is inside the organisation
	if _, err := u.Archive.Apply(t.Context(), []archive.Observation{ob}); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, ar *archive.Archive, id int64) string {
	t.Helper()
	raw, err := ar.MeetingJSON(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestNightsFindEditsAndWhatIsGone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		const step = 60 * time.Hour
		newest := now.Add(-time.Hour)
		created := func(id int64) time.Time { return newest.Add(-time.Duration(20-id) * step) }
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(20, newest, step))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		schedule := nightly()
		schedule.CatchUp = "0 12 * * *" // a month of five minutes takes long
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: schedule,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Minute)
		if c := meetingCounts(t, ar); c.WithTranscript != 20 {
			t.Fatalf("at first: %+v", c)
		}
		edit(t, u, 3, created(3), `"title":"Meeting 3"`, `"title":"Renamed"`)
		edit(t, u, 20, created(20), "So it is", "So it was")
		edit(t, u, 5, created(5), "So it is", "So it was")
		edit(t, u, 7, created(7), rig.Person, "eve@elsewhere.example")

		time.Sleep(24 * time.Hour)
		if !strings.Contains(text(t, ar, 3), "Renamed") {
			t.Error("a new title was not seen by the first night")
		}
		if !strings.Contains(text(t, ar, 20), "So it was") {
			t.Error("an edit of a recent transcript was not seen by the first night")
		}
		row, err := ar.Row(t.Context(), 7)
		if err != nil || !row.Gone || !row.HasTranscript {
			t.Errorf("the meeting that is not shown any more: %+v, %v", row, err)
		}
		if c := meetingCounts(t, ar); c.Gone != 1 {
			t.Errorf("gone: %+v", c)
		}

		edit(t, u, 7, created(7), "", "")
		time.Sleep(24 * time.Hour)
		if row, err := ar.Row(t.Context(), 7); err != nil || row.Gone {
			t.Errorf("the meeting that is back: %+v, %v", row, err)
		}

		time.Sleep(30 * 24 * time.Hour)
		if !strings.Contains(text(t, ar, 5), "So it was") {
			t.Error("an edit of an old transcript was not seen in a month")
		}
		revisions, err := ar.Revisions(t.Context(), 5)
		if err != nil || len(revisions) < 2 {
			t.Errorf("revisions of the edited meeting: %v, %v", revisions, err)
		}
	})
}

func TestMissedRunsAreMadeUpAtStart(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(10, now.Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		_, stop := running(t, o)
		time.Sleep(time.Minute)
		stop()
		edit(t, u, 3, now.Add(-8*time.Hour), `"title":"Meeting 3"`, `"title":"Renamed"`)
		_, stop = running(t, o)
		time.Sleep(30 * time.Second)
		stop()
		if strings.Contains(text(t, ar, 3), "Renamed") {
			t.Error("a run that was not missed was made")
		}
		time.Sleep(3 * 24 * time.Hour)
		_, stop = running(t, o)
		defer stop()
		time.Sleep(30 * time.Second)
		if !strings.Contains(text(t, ar, 3), "Renamed") {
			t.Error("the nights that were slept through were not made up for")
		}
	})
}

// TestMissedRunsAwaitTheNetwork starts after three days, some minutes before the network is there:
// each night's job is made up once it is.
func TestMissedRunsAwaitTheNetwork(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(10, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		_, stop := running(t, o)
		time.Sleep(24 * time.Hour)
		stop()
		time.Sleep(3 * 24 * time.Hour)
		began := time.Now()
		up := began.Add(3 * time.Minute)
		u.Wire.Fail = func(int, *http.Request, bool) error {
			if time.Now().Before(up) {
				return errors.New("network is unreachable")
			}
			return nil
		}
		s, stop := running(t, o)
		defer stop()
		time.Sleep(10 * time.Minute)
		st, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range []string{syncer.JobCatchUp, syncer.JobWalk, syncer.JobRefresh, syncer.JobDirectory} {
			if at := st.Accounts[0].LastSuccess[job]; at.Before(began) {
				t.Errorf("%s is not made up: its last run that succeeded began at %v", job, at)
			}
		}
		if len(st.Failures) > 0 {
			t.Errorf("failures %+v", st.Failures)
		}
	})
}

func changed(t *testing.T, ar *archive.Archive, id int64) bool {
	t.Helper()
	return strings.Contains(text(t, ar, id), "So it was")
}
