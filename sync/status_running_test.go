package syncer_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

// A person who waits for a run is told why its calls are repeated.
func TestARunTellsWhyItsCallsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		from, inner := time.Now(), u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if time.Since(from) < 10*time.Second {
				http.Error(w, `{"error":"under maintenance"}`, http.StatusServiceUnavailable)
				return
			}
			inner.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, err := syncer.New(syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		if err != nil {
			t.Fatal(err)
		}
		reports := 0
		err = s.Sync(t.Context(), syncer.Request{}, func(e syncer.Event) {
			if strings.Contains(e.Trouble, "under maintenance") {
				reports++
			}
			if e.Done && e.Trouble != "" {
				t.Errorf("at the end it still says %q", e.Trouble)
			}
		})
		if err != nil || reports == 0 {
			t.Errorf("told %d times, %v", reports, err)
		}
	})
}

// While a job that failed runs again, status says so, and no time of a next try.
func TestStatusTellsWhatRunsNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		var refuse, hang atomic.Bool
		refuse.Store(true)
		inner := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuse.Load() && strings.HasSuffix(r.URL.Path, "/meetings") {
				http.Error(w, `{"error":"path not found"}`, http.StatusNotFound)
				return
			}
			for hang.Load() {
				time.Sleep(time.Second)
			}
			inner.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(2 * time.Second)
		hang.Store(true)
		refuse.Store(false)
		time.Sleep(10 * time.Second)
		st, err := s.Status(t.Context())
		if err != nil || !slices.Contains(st.Accounts[0].Running, syncer.JobBackfill) {
			t.Fatalf("running now: %v, %v", st.Accounts[0].Running, err)
		}
		if len(st.Failures) != 1 || !st.Failures[0].Running {
			t.Errorf("failures: %+v", st.Failures)
		}
		hang.Store(false)
		time.Sleep(10 * time.Minute)
		if st, err := s.Status(t.Context()); err != nil || len(st.Accounts[0].Running) != 0 || len(st.Failures) != 0 {
			t.Errorf("afterwards: %v, %+v, %v", st.Accounts[0].Running, st.Failures, err)
		}
	})
}
