package syncer_test

import (
	"errors"
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

// A part that an account may not read (403) closes nothing: the other part, to which a call
// failed or which does not exist yet, is asked for still.
func TestAForbiddenPartClosesNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, c := range []string{"failed", "missing", "both forbidden"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				created := rig.Today().Add(-time.Minute)
				raw := rig.Meetings(1, created, time.Hour)
				if c == "missing" {
					raw = withoutTranscripts(t, raw)
				}
				u := rig.NewUpstream(t, service.Options{}, raw)
				inner := u.Wire.Handler
				var mended atomic.Bool
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/summary") || c == "both forbidden" && strings.HasSuffix(r.URL.Path, "/transcript") {
						w.WriteHeader(http.StatusForbidden)
						return
					}
					inner.ServeHTTP(w, r)
				})
				u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
					if c == "failed" && !mended.Load() && strings.HasSuffix(r.URL.Path, "/transcript") {
						return errors.New("reset")
					}
					return nil
				}
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", OAuth: true, Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(30 * time.Minute)
				if c == "missing" {
					edit(t, u, 1, created, "", "")
				}
				mended.Store(true)
				time.Sleep(50 * time.Minute)
				want := 1
				if c == "both forbidden" {
					want = 0
				}
				if got := meetingCounts(t, ar); got.WithTranscript != want {
					t.Errorf("%d transcripts; want %d", got.WithTranscript, want)
				}
				st, err := s.Status(t.Context())
				if err != nil || st.Accounts[0].ContentTasks != 0 || len(st.Failures) != 1 || !strings.Contains(st.Failures[0].Reason, "403") {
					t.Errorf("at the end: %d tasks, %+v, %v", st.Accounts[0].ContentTasks, st.Failures, err)
				}
			})
		})
	}
}
