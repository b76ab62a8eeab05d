package syncer_test

import (
	"fmt"
	"net/http"
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
