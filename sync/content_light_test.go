package syncer_test

import (
	"bytes"
	"encoding/json"
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

// A meeting whose content fails, and which each list shows changed, is not asked for more often.
func TestAListThatChangesEachTimeRenewsNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		var n atomic.Int64
		intercept(u, func(r *http.Request, body []byte) []byte {
			if !strings.HasSuffix(r.URL.Path, "/meetings") {
				return body
			}
			return bytes.Replace(body, []byte(`"title":"`), fmt.Appendf(nil, `"title":"%d `, n.Add(1)), 1)
		})
		failing(u, isHeavy)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(9 * day)
		if n := u.Wire.Count(heavyCalls); n > 400 {
			t.Errorf("%d heavy calls in nine days", n)
		}
	})
}

// Content that failed, and whose meeting its own list then shows changed, is read once.
func TestContentIsReadOnceAfterAFailure(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		var isUp atomic.Bool
		failing(u, func(r *http.Request) bool {
			return isHeavy(r) && (!isUp.Load() || r.URL.Query().Has("include_transcript"))
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(5 * time.Minute)
		transcripts := func() int {
			return u.Wire.Count(func(c rig.Call) bool { return strings.HasSuffix(c.Path, "/transcript") })
		}
		before := transcripts()
		isUp.Store(true)
		edit(t, u, 1, rig.Today().Add(-time.Hour), `"title":"`, `"title":"Another `)
		time.Sleep(10 * time.Hour)
		if n, c := transcripts()-before, meetingCounts(t, ar); n != 1 || c.WithTranscript != 1 {
			t.Errorf("%d calls, %+v", n, c)
		}
	})
}

// A backfill whose pages fail with content reads that of meetings too that the archive knows without it.
func TestABackfillReadsKnownMeetingsWithoutContent(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-30 * day)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, newest, time.Hour))
		breakPages(u, internalError)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		for id := 11; id <= 25; id++ {
			raw := json.RawMessage(fmt.Sprintf(`{"recording_id": %d, "title": "T", "created_at": %q}`, id, newest.Format(time.RFC3339)))
			known, err := archive.FromMeeting("former", archive.SourceList, time.Now(), raw)
			if err == nil {
				_, err = ar.Apply(t.Context(), []archive.Observation{known})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(5 * day)
		if c := meetingCounts(t, ar); c.WithTranscript != 25 {
			t.Errorf("after five days: %+v", c)
		}
	})
}
