package syncer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
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

// TestRecordingsThatAreNeverGeneratedHoldUpNoOther has the service generate recordings for ever:
// three in a row, those of the newest meetings or, after others were fetched over a line of a
// household, later ones; or all. The others are fetched, status names those that are not, which are
// asked for again ever less, and a service that finishes none is not asked for all.
func TestRecordingsThatAreNeverGeneratedHoldUpNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, c := range map[string]struct {
		meetings, good, stuck int // good ones are requested first
	}{
		"the first three":  {40, 0, 3},
		"after ten others": {40, 10, 3},
		"all":              {90, 0, 90},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(c.meetings, rig.Today().Add(-time.Hour), time.Hour))
				u.Wire.Rate, u.Wire.Piece = 5000/80.0, 512 // 80 s each: 500 MB over 50 Mbit/s
				var paths []string                         // of the requests, in their order
				polls := 0
				intercept(u, func(r *http.Request, body []byte) []byte {
					path, isRequest := strings.CutSuffix(r.URL.Path, "/download")
					path, id, isPoll := strings.Cut(path, "/downloads/")
					if !isRequest && !isPoll {
						return body
					}
					if !slices.Contains(paths, path) {
						paths = append(paths, path)
					}
					if isPoll {
						polls++
					}
					if n := slices.Index(paths, path); !isPoll || n < c.good || n >= c.good+c.stuck {
						return body
					}
					return fmt.Appendf(nil, `{"status":"processing","download_id":%q,"created_at":"2026-01-01T00:00:00Z"}`, id)
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(4 * time.Hour)
				polls = 0
				time.Sleep(time.Hour)
				if polls > 600 {
					t.Errorf("%d calls within an hour find nothing", polls)
				}
				if n := meetingCounts(t, ar).WithRecording; n != c.meetings-c.stuck {
					t.Errorf("after five hours %d of %d recordings are here", n, c.meetings-c.stuck)
				}
				if len(paths) > c.good+70 {
					t.Errorf("%d recordings are asked for", len(paths))
				}
				st, err := s.Status(t.Context())
				if err != nil || len(st.Failures) < min(c.stuck, 60) || !strings.Contains(st.Failures[0].Reason, "has not finished it since") {
					t.Errorf("failures %+v, %v", st.Failures, err)
				}
				if c.stuck > 3 {
					return
				}
				time.Sleep(45 * time.Hour)
				for _, f := range st.Failures { // asked for, generated for six hours, and asked for again after six and 24
					if at := requested(u, f.RecordingID); len(at) != 3 || at[1].Sub(at[0]) < 12*time.Hour || at[2].Sub(at[1]) < 30*time.Hour {
						t.Errorf("recording %d was asked for at %v", f.RecordingID, at)
					}
				}
			})
		})
	}
}

// TestARecordingThatIsDueWaitsForNoOpenOne has two recordings fail, and be due again two minutes
// apart. The first one is generated for ever then.
func TestARecordingThatIsDueWaitsForNoOpenOne(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(2, rig.Today().Add(-time.Hour), time.Hour))
		began := time.Now()
		intercept(u, func(r *http.Request, body []byte) []byte {
			path, id, isPoll := strings.Cut(r.URL.Path, "/downloads/")
			isFirst, elapsed := strings.HasSuffix(path, "/recordings/1"), time.Since(began)
			status := "processing"
			switch {
			case !isPoll, elapsed > 10*time.Minute && !isFirst:
				return body
			case elapsed < 10*time.Minute && (isFirst || elapsed > 2*time.Minute):
				status = "failed"
			}
			return fmt.Appendf(nil, `{"status":%q,"download_id":%q,"created_at":"2026-01-01T00:00:00Z"}`, status, id)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(25 * time.Minute)
		if d := queued(t, ar, 2); d.State != archive.DownloadDone || len(requested(u, 1)) != 2 {
			t.Errorf("eight minutes after it was due: %+v; the other one was requested at %v", d, requested(u, 1))
		}
	})
}
