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

// An answer that makes the code panic fails the work that asked for it, which is
// done again; neither the daemon nor a command ends by it.
func TestAPanicEndsNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	list := func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/meetings") }
	for name, where := range map[string]struct {
		calls func(*http.Request) bool
		nth   int32
	}{
		"survey":         {list, 1},
		"page of a walk": {list, 2},
		"transcript":     {func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/transcript") }, 2},
		"request": {func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/download")
		}, 1},
		"link": {func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/download")
		}, 1},
		"piece of media": {nil, 1},
		"users":          {func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/users") }, 1},
		"meeting types":  {func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/meeting_types") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { panicAt(t, where.calls, where.nth) })
		})
	}
}

func panicAt(t *testing.T, calls func(*http.Request) bool, nth int32) {
	u := rig.NewUpstream(t, service.Options{Generation: 20 * time.Second, Video: rig.File(5000)}, rig.Meetings(12, rig.Today().Add(-time.Hour), 30*time.Hour))
	var n atomic.Int32
	u.Wire.Fail = func(_ int, r *http.Request, after bool) error {
		if !after && calls != nil && calls(r) && n.Add(1) == nth {
			panic("an answer that nobody thought of")
		}
		return nil
	}
	u.Wire.FailPiece = func(int) error {
		if calls == nil && n.Add(1) == nth {
			panic("an answer that nobody thought of")
		}
		return nil
	}
	ar := rig.NewArchive(t, archivetest.Dir(t))
	schedule := nightly()
	schedule.CatchUp = "@hourly"
	s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Schedule: schedule,
		Accounts: []syncer.Account{{Name: "ada", Client: u.OAuthClient(t, ar), OAuth: true}}})
	defer stop()
	time.Sleep(26 * time.Hour)
	if n.Load() < nth {
		t.Fatalf("it was called %d times, no panic", n.Load())
	}
	if c := meetingCounts(t, ar); c.Meetings != 12 || c.WithTranscript != 12 || c.WithSummary != 12 || c.WithRecording != 12 || c.Gone != 0 {
		st, _ := s.Status(t.Context())
		t.Errorf("a day later: %+v, %+v, %v", c, st.Failures, st.Problems)
	}
	n.Store(0)
	if err := s.Sync(t.Context(), syncer.Request{Full: true, Media: true}, nil); err != nil && !strings.Contains(err.Error(), "panic") {
		t.Errorf("a command: %v", err)
	}
}
