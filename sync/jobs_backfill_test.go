package syncer_test

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

func newSyncer(t *testing.T, u *rig.Upstream, ar *archive.Archive) *syncer.Syncer {
	t.Helper()
	s, err := syncer.New(syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), Logger: zerolog.New(zerolog.NewTestWriter(t)),
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBackfillIsCompleteAndASecondRunIsLight(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(137, now.Add(-30*24*time.Hour), 7*time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s := newSyncer(t, u, ar)
		var last syncer.Event
		if err := s.Sync(t.Context(), syncer.Request{}, func(e syncer.Event) { last = e }); err != nil {
			t.Fatal(err)
		}
		counts, err := ar.Counts(t.Context())
		if err != nil || counts.Meetings != 137 || counts.WithTranscript != 137 || counts.WithSummary != 137 {
			t.Fatalf("archive: %+v, %v", counts, err)
		}
		if !last.Done || last.Found != 137 || last.Kept != 137 {
			t.Errorf("last event: %+v", last)
		}
		heavy := u.Wire.Count(func(c rig.Call) bool { return c.Heavy })
		if heavy != 14 {
			t.Errorf("%d heavy calls for 14 pages", heavy)
		}
		before := len(u.Wire.Calls())
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		calls := u.Wire.Calls()[before:]
		if len(calls) != 14 {
			t.Errorf("the second run made %d calls, want the light walk's 14", len(calls))
		}
		for _, c := range calls {
			if c.Heavy || c.Path != "/meetings" {
				t.Errorf("the second run called %+v", c)
			}
		}
	})
}

// A backfill that goes on after weeks shows its first pages as they were then: a walk follows at once.
func TestABackfillThatRestedForWeeksIsFollowedByAWalk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(35, newest, time.Hour))
		isDown := true
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if isDown && r.URL.Query().Get("cursor") != "" {
				return errors.New("the line is down")
			}
			return nil
		}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s := newSyncer(t, u, ar)
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err == nil || meetingCounts(t, ar).Meetings != 10 {
			t.Fatalf("the first run read %+v: %v", meetingCounts(t, ar), err)
		}
		time.Sleep(21 * day)
		edit(t, u, 35, newest, `"title":"Meeting 35"`, `"title":"Renamed"`)
		isDown = false
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil || meetingCounts(t, ar).Meetings != 35 {
			t.Fatalf("the second run read %+v: %v", meetingCounts(t, ar), err)
		}
		if !strings.Contains(text(t, ar, 35), "Renamed") {
			t.Error("a meeting of the first page is as it was three weeks ago")
		}
	})
}

// An account that has never been read has no success: the jobs that wait for its backfill do
// nothing every five minutes and every night.
func TestWaitingForTheBackfillIsNoSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today(), time.Hour))
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(30 * time.Hour)
		st, err := s.Status(t.Context())
		if err != nil || len(st.Accounts[0].LastSuccess) != 0 || len(st.Failures) == 0 {
			t.Errorf("%v, failures %v, %v", st.Accounts[0].LastSuccess, st.Failures, err)
		}
	})
}

// The first read of a list that shows nothing is its first read: a meeting that it shows
// later is new since then, by the service's clock, which stamps it, whatever this machine's says.
func TestAnEmptyListIsRead(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 40 * 24 * time.Hour, -40 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today(), time.Hour))
			inner, serviceTime := u.Wire.Handler, func() time.Time { return time.Now().Add(-ahead) }
			u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", serviceTime().UTC().Format(http.TimeFormat))
				inner.ServeHTTP(w, r)
			})
			ar := rig.NewArchive(t, archivetest.Dir(t))
			began := serviceTime()
			s, err := syncer.New(syncer.Options{Archive: ar, Logger: zerolog.Nop(),
				Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar), Teams: []string{"Sales"}}}})
			if err == nil {
				err = s.Sync(t.Context(), syncer.Request{}, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			o, err := archive.FromMeeting("ada", archive.SourceList, time.Now(), []byte(`{"recording_id":99,"default_summary":{"markdown_formatted":"new"}}`))
			o.Query = syncer.Queries(nil, []string{"Sales"})[1]
			if err == nil {
				_, err = ar.Apply(t.Context(), []archive.Observation{o})
			}
			if err != nil {
				t.Fatal(err)
			}
			since, ok, err := ar.ShownSince(t.Context(), o.RecordingID, api.PartSummary)
			if err != nil || !ok || since.Before(began.Truncate(time.Second)) || since.Sub(began) > time.Minute {
				t.Errorf("a clock that is ahead by %v: the list is read since %v (%v), and was since %v: %v", ahead, since, ok, began, err)
			}
		})
	}
}

// A service that takes no cursor for an hour, nor ever any that it gave then, keeps the backfill for no
// longer.
func TestABackfillGoesOnAfterTheServiceRefusedItsCursors(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(45, rig.Today().Add(-30*24*time.Hour), time.Minute))
		var isWell atomic.Bool
		const good = "good-"
		intercept(u, func(r *http.Request, body []byte) []byte {
			if isWell.Load() {
				return bytes.Replace(body, []byte(`"next_cursor":"`), []byte(`"next_cursor":"`+good), 1)
			}
			return body
		})
		inner := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			cursor, isGood := strings.CutPrefix(q.Get("cursor"), good)
			if cursor != "" && !isGood {
				http.Error(w, `{"error": "this cursor is no longer good"}`, http.StatusBadRequest)
				return
			}
			if isGood {
				q.Set("cursor", cursor)
				r.URL.RawQuery = q.Encode()
			}
			inner.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		isWell.Store(true)
		time.Sleep(time.Hour)
		if c := meetingCounts(t, ar); c.Meetings != 45 {
			t.Errorf("an hour after the service is well again: %+v", c)
		}
	})
}
