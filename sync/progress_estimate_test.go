package syncer_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/api"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// A run says every second how far it is: meetings found, kept and to do, calls
// against the limits, bytes, and the time that is left.
func TestARunTellsHowFarItIs(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings, bytes = 310, 60_000
		u := rig.NewUpstream(t, service.Options{Generation: 5 * time.Second, Video: rig.File(bytes)},
			rig.Meetings(meetings, rig.Today().Add(-24*time.Hour), 2*time.Hour))
		u.Wire.Delay = func(*http.Request) (time.Duration, time.Duration) { return time.Second, time.Second }
		u.Wire.Rate = 40_000
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		if err != nil {
			t.Fatal(err)
		}
		var events []syncer.Event
		start := time.Now()
		if err := s.Sync(t.Context(), syncer.Request{Media: true}, func(e syncer.Event) { events = append(events, e) }); err != nil {
			t.Fatal(err)
		}
		elapsed := time.Since(start)
		if n := len(events); n < int(elapsed.Seconds()*0.9) {
			t.Errorf("%d events in %v", n, elapsed)
		}
		var before syncer.Event
		activities := map[string]bool{}
		estimated, most := 0, 0
		for i, e := range events {
			if e.Found < before.Found || e.Kept < before.Kept || e.Bytes < before.Bytes || e.Recordings < before.Recordings || e.Done != (i == len(events)-1) {
				t.Fatalf("event %d: %+v after %+v", i, e, before)
			}
			for class, c := range e.Calls {
				if c.Used > c.Limit {
					t.Errorf("event %d: %d calls of %s, of %d", i, c.Used, class, c.Limit)
				}
			}
			activities[e.Doing], most = true, max(most, e.Calls[api.ClassHeavy].Used)
			if left := elapsed - e.At.Sub(start); e.Left > 0 && left > time.Minute {
				estimated++
				if e.Left < left.Seconds()/20 || e.Left > left.Seconds()*20 {
					t.Errorf("event %d, %s: %.0f s are said to be left, %v were", i, e.Doing, e.Left, left)
				}
			}
			before = e
		}
		last := events[len(events)-1]
		if last.Found < meetings || last.Found > meetings+12 || last.Kept != meetings || last.ToDo != 0 || last.Recordings != meetings || last.Bytes != meetings*bytes {
			t.Errorf("last event %+v", last)
		}
		if !activities[syncer.JobBackfill] || !activities["media"] || estimated < len(events)/2 {
			t.Errorf("did %v, %d of %d events with an estimate", activities, estimated, len(events))
		}
		if most != 30 {
			t.Errorf("at most %d heavy calls a minute were told of", most)
		}
	})
}

// TestARunTellsHowLongItIsRefused has a service that answers the list of meetings with 429
// for a minute: the events say when it takes calls again, until it does.
func TestARunTellsHowLongItIsRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		until, inner := time.Now().Add(time.Minute), u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if left := time.Until(until); left > 0 && strings.HasSuffix(r.URL.Path, "/meetings") {
				w.Header().Set("Retry-After", strconv.Itoa(int(left.Seconds())))
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			inner.ServeHTTP(w, r)
		})
		waits := 0
		if err := newSyncer(t, u, rig.NewArchive(t, archivetest.Dir(t))).Sync(t.Context(), syncer.Request{}, func(e syncer.Event) {
			calls := e.Calls[api.ClassGlobal]
			blocked := calls.Blocked
			if blocked.IsZero() {
				return
			}
			waits++
			if calls.BlockedAccount != "ada" || !blocked.After(e.At) || blocked.Sub(until).Abs() > 10*time.Second || e.Done {
				t.Errorf("at %v calls of %q are said to be refused until %v, not %v", e.At, calls.BlockedAccount, blocked, until)
			}
		}); err != nil || waits == 0 {
			t.Errorf("%d events with the time, %v", waits, err)
		}
	})
}
