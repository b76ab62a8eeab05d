package syncer_test

import (
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

// A call for content fails, and then a list has the content: the failure is over.
func TestAListClosesTheFailureOfContent(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		created := rig.Today().Add(-time.Minute)
		u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(1, created, time.Hour)))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		var fails atomic.Bool
		fails.Store(true)
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if fails.Load() && strings.HasSuffix(r.URL.Path, "/transcript") {
				return rig.ErrCut
			}
			return nil
		}
		s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(12 * time.Minute)
		failures := func() int {
			t.Helper()
			st, err := s.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(st.Failures)
		}
		if n := failures(); n != 1 {
			t.Fatalf("%d failures after the call", n)
		}
		edit(t, u, 1, created, "", "")
		if err := s.Sync(t.Context(), syncer.Request{Full: true}, nil); err != nil {
			t.Fatal(err)
		}
		if n := failures(); n != 0 {
			t.Errorf("%d failures after a list had the content", n)
		}
	})
}

// Failures of accounts and of lists that are not read any more are closed, and no others.
func TestFailuresEndWithWhatWasRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		for _, f := range []archive.Failure{
			{Account: "eve", Class: "content", What: "1", RecordingID: 1},
			{Account: "eve", Class: "job", What: syncer.JobWalk},
			{Account: "eve", Class: "absence", What: "all meetings"},
			{Account: "ada", Class: "absence", What: "teams Old"},
			{Account: "ada", Class: "list", What: "an item of teams Old"},
			{Account: "ada", Class: "list", What: "an item of teams Sales"},
			{Account: "ada", Class: "absence", What: "teams Sales"},
		} {
			if err := ar.RecordFailure(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar), Teams: []string{"Sales"}}}})
		defer stop()
		time.Sleep(time.Minute)
		st, err := s.Status(t.Context())
		if err != nil || len(st.Failures) != 2 {
			t.Errorf("open are %+v, %v", st.Failures, err)
		}
		for _, f := range st.Failures {
			if f.Account != "ada" || !strings.HasSuffix(f.What, "teams Sales") {
				t.Errorf("open is %+v", f)
			}
		}
	})
}
