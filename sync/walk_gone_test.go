package syncer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

const bob = "bob@example.com"

// meetingOfBob returns a meeting that bob recorded.
func meetingOfBob(id int64, created time.Time) []byte {
	return append(bytes.ReplaceAll(rig.Meeting(id, created), []byte(rig.Person), []byte(bob)), '\n')
}

// share states who there is and which meetings are shared beyond those each recorded.
func share(t *testing.T, u *rig.Upstream, shares ...string) {
	t.Helper()
	file := fmt.Sprintf(`{"users": [{"email": %q}, {"email": %q}], "teams": [], "meeting_types": [], "shares": [%s]}`,
		rig.Person, bob, strings.Join(shares, ","))
	if err := u.Service.LoadDirectory(context.Background(), strings.NewReader(file), "shares"); err != nil {
		t.Fatal(err)
	}
}

// clientOf is a client with a key of a person.
func clientOf(t *testing.T, u *rig.Upstream, email string) *api.Client {
	t.Helper()
	key, err := u.Service.CreateKey(context.Background(), email)
	if err != nil {
		t.Fatal(err)
	}
	c, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, Credential: api.APIKey(key), HTTP: u.HTTP()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// walkSchedule returns a schedule of walks only.
func walkSchedule() syncer.Schedule { return syncer.Schedule{Walk: "0 2 * * *"} }

// A light walk makes no heavy call, and finds meetings shared with the account
// meanwhile, however old. They are then read with their content.
func TestALightWalkFindsWhatWasSharedMeanwhile(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-100 * 24 * time.Hour)
		raw := append(rig.Meetings(25, newest, 24*time.Hour), meetingOfBob(90, newest.Add(-5*time.Hour))...)
		u := rig.NewUpstream(t, service.Options{}, raw)
		share(t, u)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(24 * time.Hour)
		if c := meetingCounts(t, ar); c.Meetings != 25 {
			t.Fatalf("at first: %+v", c)
		}
		edit(t, u, 3, newest.Add(-22*24*time.Hour), `"title":"Meeting 3"`, `"title":"Renamed"`)
		before := len(u.Wire.Calls())
		time.Sleep(24 * time.Hour)
		calls := u.Wire.Calls()[before:]
		for _, c := range calls {
			if c.Heavy || c.Path != "/meetings" {
				t.Errorf("the walk calls %+v", c)
			}
		}
		if len(calls) != 3 || !strings.Contains(text(t, ar, 3), "Renamed") {
			t.Errorf("%d calls, of meeting 3 there is %s", len(calls), text(t, ar, 3))
		}
		share(t, u, fmt.Sprintf(`{"recording_id": 90, "user": %q}`, rig.Person))
		time.Sleep(24 * time.Hour)
		row, err := ar.Row(t.Context(), 90)
		if err != nil || !row.HasTranscript || !row.HasSummary {
			t.Errorf("the meeting that was shared: %+v, %v", row, err)
		}
	})
}

// Absence counts after a complete walk without an error, and not before.
func TestAWalkThatBreaksOffSaysNothingOfWhatIsGone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(35, newest, time.Hour))
		var down atomic.Bool
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if down.Load() && r.URL.Query().Get("cursor") != "" {
				return errors.New("the line is down")
			}
			return nil
		}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Minute)
		edit(t, u, 34, newest.Add(-time.Hour), rig.Person, "eve@elsewhere.example") // on the walk's first page
		down.Store(true)
		time.Sleep(24 * time.Hour)
		down.Store(false)
		if c := meetingCounts(t, ar); c.Gone != 0 {
			t.Errorf("after a walk that broke off: %+v", c)
		}
		st, err := s.Status(t.Context())
		if err != nil || len(st.Failures) != 1 || st.Failures[0].What != syncer.JobWalk || st.Failures[0].NextTry.IsZero() {
			t.Errorf("failures: %+v, %v", st.Failures, err)
		}
		time.Sleep(24 * time.Hour)
		if row, err := ar.Row(t.Context(), 34); err != nil || !row.Gone || meetingCounts(t, ar).Gone != 1 {
			t.Errorf("after a complete one: %+v, %v", row, err)
		}
		if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 0 {
			t.Errorf("failures: %+v, %v", st.Failures, err)
		}
	})
}

// One meeting seen through two accounts is one meeting, of which the archive
// knows who sees it. It is gone when neither does any more.
func TestAMeetingSeenByTwoIsOneAndGoneForBoth(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, append(rig.Meetings(3, newest, time.Hour), meetingOfBob(90, newest.Add(-30*time.Minute))...))
		both := fmt.Sprintf(`{"recording_id": 2, "user": %q}`, bob)
		share(t, u, both)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{
			{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}})
		defer stop()
		time.Sleep(time.Minute)
		if c := meetingCounts(t, ar); c.Meetings != 4 || c.WithTranscript != 4 {
			t.Fatalf("at first: %+v", c)
		}
		if by, err := ar.SeenBy(t.Context(), 2); err != nil || !slices.Equal(by, []string{"ada", "bob"}) {
			t.Errorf("meeting 2 is seen by %q, %v", by, err)
		}
		coverage := func() map[string]archive.Coverage {
			c, err := ar.Coverage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := coverage(); c["ada"].Meetings != 3 || c["bob"].Meetings != 2 {
			t.Errorf("coverage %+v", c)
		}
		share(t, u) // bob sees meeting 2 no more
		time.Sleep(24 * time.Hour)
		if c := coverage(); meetingCounts(t, ar).Gone != 0 || c["ada"].Meetings != 3 || c["bob"].Meetings != 1 {
			t.Errorf("with one account left: %+v, %+v", meetingCounts(t, ar), c)
		}
		edit(t, u, 2, newest.Add(-time.Hour), rig.Person, "eve@elsewhere.example") // nor does ada
		time.Sleep(24 * time.Hour)
		if row, err := ar.Row(t.Context(), 2); err != nil || !row.Gone || !row.HasTranscript || meetingCounts(t, ar).Gone != 1 {
			t.Errorf("with no account left: %+v, %v", row, err)
		}
	})
}
