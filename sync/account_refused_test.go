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

// refuseAll has the service answer every call with a status, as it does with the keys of
// deactivated users, from a call whose path ends so on until the returned value is 0.
func refuseAll(u *rig.Upstream, from string, code int32) *atomic.Int32 {
	var refuses, isOver atomic.Int32
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, from) && isOver.CompareAndSwap(0, 1) {
			refuses.Store(code)
		}
		if code := refuses.Load(); code != 0 {
			w.WriteHeader(int(code))
			fmt.Fprint(w, `{"error": "this user is not active"}`)
			return
		}
		inner.ServeHTTP(w, r)
	})
	return &refuses
}

// A user is deactivated just before the recordings, or the late content, are asked for: these
// are no lasting refusals.
func TestARefusedAccountIsRefusedNoRecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, code := range []int32{http.StatusForbidden, http.StatusNotFound} {
		for _, from := range []string{"/download", "/transcript"} {
			t.Run(fmt.Sprint(code, from), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					created := rig.Today().Add(-time.Minute)
					u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, withoutTranscripts(t, rig.Meetings(1, created, time.Hour)))
					ar := rig.NewArchive(t, archivetest.Dir(t))
					refuses := refuseAll(u, from, code)
					s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
						Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
					defer stop()
					time.Sleep(30 * time.Minute)
					if refuses.Load() == 0 {
						t.Fatal("nothing was refused")
					}
					if d := queued(t, ar, 1); len(d.RefusedBy) > 0 || d.State == archive.DownloadRefused {
						t.Errorf("while the user is deactivated: %+v", d)
					}
					st, err := s.Status(t.Context())
					if suspended := st.Accounts[0].Suspended != ""; err != nil || suspended != (code == http.StatusForbidden) {
						t.Errorf("suspended %t, %v", suspended, err)
					}
					edit(t, u, 1, created, "", "")
					refuses.Store(0)
					time.Sleep(26 * time.Hour)
					if c := meetingCounts(t, ar); c.WithRecording != 1 || c.WithTranscript != 1 {
						t.Errorf("once the user is active again: %+v, %+v", c, queued(t, ar, 1))
					}
				})
			})
		}
	}
}
