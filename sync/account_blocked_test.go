package syncer_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// An account that the service asks not to call for more than a day is suspended,
// over a restart too, and makes no call until a person resumes it.
func TestALongRetryAfterSuspendsTheAccount(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		var refuse atomic.Bool
		inner := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuse.Load() {
				w.Header().Set("Retry-After", "432000") // five days
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			inner.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		options := func() syncer.Options {
			return syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		}
		_, stop := running(t, options())
		time.Sleep(time.Minute)
		refuse.Store(true)
		time.Sleep(10 * time.Minute)
		refuse.Store(false)
		stop()
		before := len(u.Wire.Calls())
		s, stop := running(t, options())
		defer stop()
		time.Sleep(24 * time.Hour)
		st, err := s.Status(t.Context())
		if err != nil || !strings.Contains(st.Accounts[0].Suspended, "not to be called before 2026-06-06T12:0") || !strings.Contains(st.Accounts[0].Suspended, "sync --resume") {
			t.Errorf("status says %q, %v", st.Accounts[0].Suspended, err)
		}
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err == nil || len(u.Wire.Calls()) != before {
			t.Errorf("a command without --resume: %v, %d calls", err, len(u.Wire.Calls())-before)
		}
		if err := s.Sync(t.Context(), syncer.Request{Account: "ada", Resume: true}, nil); err != nil || len(u.Wire.Calls()) == before {
			t.Errorf("with --resume: %v", err)
		}
		if st, err := s.Status(t.Context()); err != nil || st.Accounts[0].Suspended != "" {
			t.Errorf("afterwards: %q, %v", st.Accounts[0].Suspended, err)
		}
	})
}
