package syncer_test

import (
	"net/http"
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

// A full sync whose list lacked too much looks again without content. Cut there,
// the next full sync reads the content all the same.
func TestAFullSyncCutInItsSecondLookReadsAllContent(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings = 45
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, rig.Today().Add(-time.Hour), time.Hour))
		var lacking, cut atomic.Bool
		intercept(u, func(r *http.Request, body []byte) []byte {
			if lacking.Load() {
				return []byte(emptyList)
			}
			return body
		})
		u.Wire.Fail = func(_ int, r *http.Request, answered bool) error {
			q := r.URL.Query()
			if lacking.Load() && answered && q.Get("include_transcript") == "true" {
				lacking.Store(false)
				cut.Store(true) // in the second look, behind its first page
			}
			if cut.Load() && q.Get("cursor") != "" {
				return rig.ErrCut
			}
			return nil
		}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s := newSyncer(t, u, ar)
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		lacking.Store(true)
		if err := s.Sync(t.Context(), syncer.Request{Full: true}, nil); err == nil || !cut.Load() {
			t.Fatalf("it was not cut: %v", err)
		}
		cut.Store(false)
		before := u.Wire.Count(heavyCalls)
		time.Sleep(time.Hour)
		if err := s.Sync(t.Context(), syncer.Request{Full: true}, nil); err != nil {
			t.Fatal(err)
		}
		if n := u.Wire.Count(heavyCalls) - before; n != 5 {
			t.Errorf("the next full sync made %d heavy calls for 5 pages", n)
		}
		if c := meetingCounts(t, ar); c.Gone != 0 || c.Meetings != meetings {
			t.Errorf("%+v", c)
		}
	})
}
