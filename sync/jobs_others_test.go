package syncer_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
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

// refuse has the service answer the calls that isRefused chooses with a status.
func refuse(u *rig.Upstream, status int, isRefused func(*http.Request) bool) {
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isRefused(r) {
			w.Header().Set("Retry-After", "36000") // ten hours, where the status asks to wait
			w.WriteHeader(status)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// isOf reports whether the upstream's own account makes a call.
func isOf(u *rig.Upstream, r *http.Request) bool { return r.Header.Get("X-Api-Key") == u.Key }

// The service keeps one account waiting for ten hours: the timetables of the others go on.
func TestAnAccountThatWaitsHoldsUpNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, append(rig.Meetings(3, newest, time.Hour), meetingOfBob(90, newest)...))
		share(t, u)
		var busy atomic.Bool
		refuse(u, http.StatusTooManyRequests, func(r *http.Request) bool { return busy.Load() && isOf(u, r) })
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{CatchUp: "*/5 * * * *"},
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}})
		defer stop()
		time.Sleep(time.Hour)
		if c := meetingCounts(t, ar); c.Meetings != 4 {
			t.Fatalf("at first %+v", c)
		}
		busy.Store(true)
		time.Sleep(6 * time.Minute)
		addMeeting(t, u, meetingOfBob(91, time.Now()))
		time.Sleep(15 * time.Minute)
		if c := meetingCounts(t, ar); c.Meetings != 5 {
			t.Errorf("three catch-ups of bob later: %+v", c)
		}
	})
}

// upstreamWithADissolvedTeam serves five meetings, and answers with a status where a list names the
// team Dissolved. rename gives the oldest meeting another title.
func upstreamWithADissolvedTeam(t *testing.T, status int) (u *rig.Upstream, rename func()) {
	t.Helper()
	newest := rig.Today().Add(-time.Hour)
	u = rig.NewUpstream(t, service.Options{}, rig.Meetings(5, newest, 10*day))
	refuse(u, status, func(r *http.Request) bool { return strings.Contains(r.URL.RawQuery, "Dissolved") })
	return u, func() { edit(t, u, 1, newest.Add(-40*day), `"title":"Meeting 1"`, `"title":"Renamed"`) }
}

// The plain list is walked all the same: once a night where the other one is refused, and at each
// new try where the service fails.
func TestAListThatIsRefusedHoldsUpNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for status, most := range map[int]int{http.StatusBadRequest: 10, http.StatusInternalServerError: 200} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, rename := upstreamWithADissolvedTeam(t, status)
				ar := rig.NewArchive(t, archivetest.Dir(t))
				a := syncer.Account{Name: "ada", Client: u.Client(t, ar)}
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Walk: "0 2 * * *"}, Accounts: []syncer.Account{a}})
				defer stop()
				time.Sleep(2 * day)
				a.Teams = []string{"Dissolved"}
				if err := s.SetAccounts([]syncer.Account{a}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				rename()
				before := len(u.Wire.Calls())
				time.Sleep(2 * day)
				if !strings.Contains(text(t, ar, 1), "Renamed") {
					t.Error("two days later the plain list was not walked")
				}
				if n := len(u.Wire.Calls()) - before; n > most {
					t.Errorf("%d calls in two nights", n)
				}
			})
		})
	}
}

// A command reads the lists that the service shows, and fails because of the list that it refuses: at
// first the backfill, then a walk.
func TestACommandReadsTheListsThatAreNotRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, rename := upstreamWithADissolvedTeam(t, http.StatusBadRequest)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, err := syncer.New(syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar), Teams: []string{"Dissolved"}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Meeting 1", "Renamed"} {
			if err := s.Sync(t.Context(), syncer.Request{}, nil); err == nil || !strings.Contains(err.Error(), "refuses a list") || !strings.Contains(err.Error(), "teams Dissolved") {
				t.Error(err)
			}
			if c := meetingCounts(t, ar); c.WithTranscript != 5 || !strings.Contains(text(t, ar, 1), want) {
				t.Errorf("%+v: %s", c, text(t, ar, 1))
			}
			if n := u.Wire.Count(heavyCalls); n != 1 {
				t.Errorf("%d heavy calls", n)
			}
			time.Sleep(time.Hour)
			rename()
		}
	})
}

// The service never gives a recording to one account, and would to another: that one is asked in
// its turn.
func TestAnotherAccountIsAskedForARecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, append(rig.Meetings(1, newest, time.Hour), meetingOfBob(90, newest)...))
		share(t, u, fmt.Sprintf(`{"recording_id": 90, "user": %q}`, rig.Person))
		refuse(u, http.StatusBadRequest, func(r *http.Request) bool { return r.Method == http.MethodPost && isOf(u, r) })
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}})
		defer stop()
		time.Sleep(day)
		if d := queued(t, ar, 90); d.State != archive.DownloadDone {
			t.Errorf("after a day, requested %d times: %+v", len(requested(u, 90)), d)
		}
	})
}
