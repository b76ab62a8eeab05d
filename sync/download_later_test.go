package syncer_test

import (
	"fmt"
	"net/http"
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

// upstreamWithLateRecordings returns a service with a meeting, and requests for recordings that it
// answers with an error until they exist.
func upstreamWithLateRecordings(t *testing.T, code int) (u *rig.Upstream, exist *atomic.Bool) {
	u, exist = rig.NewUpstream(t, service.Options{Video: rig.File(500)}, rig.Meetings(1, rig.Today().Add(-time.Minute), time.Hour)), &atomic.Bool{}
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !exist.Load() {
			w.WriteHeader(code)
			return
		}
		inner.ServeHTTP(w, r)
	})
	return u, exist
}

// A recording that does not exist yet, or is not found yet, when it is asked for first is
// fetched when it does.
func TestARecordingIsAwaited(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, code := range []int{http.StatusUnprocessableEntity, http.StatusNotFound} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, exist := upstreamWithLateRecordings(t, code)
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(4 * time.Hour)
				if n := len(requested(u, 1)); n != 5 {
					t.Errorf("asked for %d times in four hours", n)
				}
				if st, err := s.Status(t.Context()); err != nil || len(st.Failures)+len(st.Problems) > 0 {
					t.Errorf("status: %+v, %q, %v", st.Failures, st.Problems, err)
				}
				time.Sleep(4 * 24 * time.Hour)
				exist.Store(true)
				time.Sleep(25 * time.Hour)
				if d := queued(t, ar, 1); d.State != archive.DownloadDone {
					t.Errorf("a day after it exists: %+v", d)
				}
			})
		})
	}
}
