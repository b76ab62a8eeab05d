package syncer_test

import (
	"net/http"
	"sync"
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

const day = 24 * time.Hour

func heavyCalls(c rig.Call) bool { return c.Heavy }

// The content of the last seven days is read again every night, older content is
// not.
func TestTheLastSevenDaysAreReadAgainEveryNight(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(20, newest, day)) // number 20 is the newest
		ar := readingAgain(t, u)
		time.Sleep(time.Hour)
		for night := range 3 {
			for _, id := range []int64{20, 18, 16, 10} { // today's, two, four and ten days old
				edit(t, u, id, newest.Add(-time.Duration(20-id)*day), "So it is", []string{"So it was", "So it became", "So it stays"}[night])
			}
			time.Sleep(day)
		}
		for id, want := range map[int64]int{20: 4, 18: 4, 16: 4, 10: 1} {
			revisions, err := ar.Revisions(t.Context(), id)
			n := 0
			for _, r := range revisions {
				if r.Part == "transcript" {
					n++
				}
			}
			if err != nil || n != want {
				t.Errorf("meeting %d has %d transcripts after three nights, want %d; %v", id, n, want, err)
			}
		}
	})
}

// Older meetings are read again in a rotation a month, a few pages a night. The backfill
// counts as the first one.
func TestTheRotationReadsAllThatIsOld(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings = 100
		newest := rig.Today().Add(-20 * day)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, newest, time.Hour))
		ar := readingAgain(t, u)
		time.Sleep(time.Hour)
		for id := int64(1); id <= meetings; id++ {
			edit(t, u, id, newest.Add(-time.Duration(meetings-id)*time.Hour), "So it is", "So it was")
		}
		read := func() (n int) {
			for id := int64(1); id <= meetings; id++ {
				if changed(t, ar, id) {
					n++
				}
			}
			return n
		}
		before := u.Wire.Count(heavyCalls)
		time.Sleep(29 * day)
		if n, h := read(), u.Wire.Count(heavyCalls)-before; n != 0 || h > 29 { // a look at the last seven days a night
			t.Errorf("in the backfill's month %d were read again, with %d heavy calls", n, h)
		}
		for range 25 {
			before := u.Wire.Count(heavyCalls)
			time.Sleep(day)
			if h := u.Wire.Count(heavyCalls) - before; h > 5 {
				t.Errorf("%d heavy calls in a night", h)
			}
		}
		if n := read(); n != meetings {
			t.Errorf("%d of %d were read again in the month after", n, meetings)
		}
		before = u.Wire.Count(heavyCalls)
		time.Sleep(2 * day)
		if h := u.Wire.Count(heavyCalls) - before; h > 2 {
			t.Errorf("after the rotation %d heavy calls in two nights", h)
		}
	})
}

// The rotation takes the calls that nothing else wants: beside a command that
// reads everything it waits.
func TestTheRotationTakesWhatIsLeftOfTheBudget(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings = 400
		today := rig.Today()
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, today.Add(-20*day), time.Hour))
		u.Wire.Delay = func(*http.Request) (time.Duration, time.Duration) { return time.Second, time.Second }
		night := today.Add(31*day - 9*time.Hour) // three o'clock
		var mu sync.Mutex
		var rotation []time.Time
		next := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			before, err := time.Parse(time.RFC3339, q.Get("created_before"))
			if q.Get("created_after") == "" && err == nil && before.Sub(night.Add(-7*day)).Abs() < time.Minute {
				mu.Lock()
				rotation = append(rotation, time.Now())
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Refresh: "0 3 * * *"},
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Until(night) - 5*time.Second)
		if err := s.Sync(t.Context(), syncer.Request{Full: true}, nil); err != nil {
			t.Fatal(err)
		}
		ended := time.Now()
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if len(rotation) != 4 || ended.Before(night.Add(time.Minute/2)) {
			t.Fatalf("the rotation read at %v; the command was over at %v", rotation, ended)
		}
		for _, at := range rotation {
			if at.Before(ended) {
				t.Errorf("a page of the rotation at %v, %v before the command was over", at, ended.Sub(at))
			}
		}
	})
}

// A rotation whose cursors live for less than a night goes on, also through a day that has more
// meetings than a night reads.
func TestTheRotationPassesADayOfManyMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings = 150
		newest := rig.Today().Add(-20 * day)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, newest, time.Minute))
		var mu sync.Mutex
		var last time.Time // when the rotation has asked
		next := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("created_after") == "" && q.Get("created_before") != "" {
				mu.Lock()
				isStale := q.Get("cursor") != "" && time.Since(last) > time.Hour
				last = time.Now()
				mu.Unlock()
				if isStale {
					w.WriteHeader(http.StatusBadRequest)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
		ar := readingAgain(t, u)
		time.Sleep(time.Hour)
		for id := int64(1); id <= meetings; id++ {
			edit(t, u, id, newest.Add(-time.Duration(meetings-id)*time.Minute), "So it is", "So it was")
		}
		time.Sleep(50 * day)
		for id := int64(1); id <= meetings; id++ {
			if !changed(t, ar, id) {
				t.Fatalf("meeting %d was not read again", id)
			}
		}
	})
}

// readingAgain runs a Syncer that reads content again each night, until the test ends.
func readingAgain(t *testing.T, u *rig.Upstream) *archive.Archive {
	ar := rig.NewArchive(t, archivetest.Dir(t))
	_, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Refresh: "0 3 * * *"},
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	t.Cleanup(stop)
	return ar
}

// A clock that is ahead by weeks for an hour, when a rotation begins, puts the next one off by
// nothing.
func TestAClockThatWasAheadPutsNoRotationOff(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-60 * day)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(5, newest, time.Hour))
		ar, clock := rig.NewArchive(t, archivetest.Dir(t)), rig.NewClock()
		client, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, Credential: api.APIKey(u.Key), HTTP: u.HTTP(), Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Refresh: "0 3 * * *"}, Now: clock.Now,
			Accounts: []syncer.Account{{Name: "ada", Client: client}}})
		defer stop()
		time.Sleep(5 * day)
		clock.Set(29 * day)
		time.Sleep(time.Hour)
		clock.Set(0)
		time.Sleep(day)
		edit(t, u, 3, newest.Add(-2*time.Hour), "So it is", "So it was")
		time.Sleep(32 * day)
		if !changed(t, ar, 3) {
			t.Error("an edit was not read in the 32 days after it")
		}
	})
}
