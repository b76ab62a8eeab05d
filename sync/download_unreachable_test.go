package syncer_test

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// TestUnreachableRecordingsHoldUpNoOthers has the links of the first recordings lead to
// a host that does not answer, or nowhere. The others are fetched, status names the
// failures, and those recordings are fetched when their links are right.
func TestUnreachableRecordingsHoldUpNoOthers(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	link := regexp.MustCompile(`"url": ?"[^"]*"`)
	for name, address := range map[string]string{"a dead host": "https://dead.example/video.mp4", "no address": "file:///etc/passwd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const all, bad = 8, 4
				u := rig.NewUpstream(t, service.Options{Video: rig.File(5000)}, rig.Meetings(all, rig.Today().Add(-time.Hour), 20*time.Hour))
				u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
					if r.URL.Host == "dead.example" {
						return rig.ErrCut
					}
					return nil
				}
				var mu sync.Mutex
				spoilt := map[string]bool{}
				intercept(u, func(r *http.Request, body []byte) []byte {
					path, _, found := strings.Cut(r.URL.Path, "/downloads/")
					mu.Lock()
					defer mu.Unlock()
					if !found || !bytes.Contains(body, []byte("completed")) || !spoilt[path] && len(spoilt) >= bad {
						return body
					}
					spoilt[path] = time.Since(rig.Today()) < 3*time.Hour
					if !spoilt[path] {
						return body
					}
					return link.ReplaceAll(body, []byte(`"url": "`+address+`"`))
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(2 * time.Hour)
				st, err := s.Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				failures := 0
				for _, f := range st.Failures {
					if f.Class == "download" {
						failures++
					}
				}
				if c := meetingCounts(t, ar); c.WithRecording != all-bad || failures != bad {
					t.Errorf("after two hours %d of %d recordings are there, and status names %d failures", c.WithRecording, all, failures)
				}
				time.Sleep(3 * 24 * time.Hour)
				if c := meetingCounts(t, ar); c.WithRecording != all {
					t.Errorf("once the links are right, %d of %d recordings are there", c.WithRecording, all)
				}
			})
		})
	}
}
