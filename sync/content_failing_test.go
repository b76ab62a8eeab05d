package syncer_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// failing has the calls fail that fails chooses.
func failing(u *rig.Upstream, fails func(*http.Request) bool) {
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fails(r) {
			internalError(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// isHeavy reports whether a call asks for content.
func isHeavy(r *http.Request) bool {
	return r.URL.Query().Has("include_transcript") || strings.HasSuffix(r.URL.Path, "/transcript") || strings.HasSuffix(r.URL.Path, "/summary")
}

// Three new meetings, of which one makes each list with its content fail, and perhaps the calls for its
// content too: the others are read.
func TestNewMeetingsBesideOneThatBreaksItsPageAreRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprintf("alone %t", alone), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{Hold: 3}, rig.Meetings(20, time.Now().Add(170*time.Minute), time.Minute))
				breakPages(u, internalError)
				failing(u, func(r *http.Request) bool { return alone && strings.Contains(r.URL.Path, "/recordings/20/") })
				ar := rig.NewArchive(t, archivetest.Dir(t))
				_, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{CatchUp: "*/5 * * * *"},
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(3 * time.Hour)
				for range 3 {
					if _, ok, err := u.Service.Finish(t.Context()); err != nil || !ok {
						t.Fatal(ok, err)
					}
				}
				time.Sleep(time.Hour)
				want := 20
				if alone {
					want = 19
				}
				if c := meetingCounts(t, ar); c.Meetings != 20 || c.WithTranscript != want {
					t.Errorf("an hour later: %+v", c)
				}
			})
		})
	}
}

// While all lists fail, the content of meetings that webhooks announce is read alone, also beside one
// whose content fails. While everything fails, or all content, few calls are made.
func TestContentIsReadAloneWhereListsFail(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, c := range map[string]struct {
		fails func(*http.Request) bool
		want  int // transcripts after an hour
	}{
		"lists": {func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/meetings") || strings.Contains(r.URL.Path, "/recordings/1/")
		}, 8},
		"content":    {isHeavy, 0},
		"everything": {func(*http.Request) bool { return true }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				created := rig.Today()
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(9, created, time.Minute))
				failing(u, c.fails)
				ar := rig.NewArchive(t, archivetest.Dir(t))
				for id := range 9 {
					body := fmt.Sprintf(`{"recording_id": %d, "title": "T", "created_at": %q}`, id+1, created.Format(time.RFC3339))
					if _, err := ar.Inbox().Put(t.Context(), inbox.Delivery{Account: "ada", WebhookID: fmt.Sprint(id),
						ReceivedAt: time.Now(), SentAt: time.Now(), Body: []byte(body), Kind: inbox.KindWebhook}); err != nil {
						t.Fatal(err)
					}
				}
				_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(time.Hour)
				if got := meetingCounts(t, ar); got.Meetings != 9 || got.WithTranscript != c.want {
					t.Errorf("after an hour: %+v; want %d transcripts", got, c.want)
				}
				if n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy }); n > 100 {
					t.Errorf("%d heavy calls within an hour", n)
				}
			})
		})
	}
}

// Content that fails for good is asked for ever less, and at once when its meeting changes.
func TestContentThatFailsForGoodIsAskedForEverLess(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-20 * day)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, newest, time.Hour))
		u.Wire.Handler = lackTranscripts(u.Wire.Handler)
		var mended atomic.Bool
		failing(u, func(r *http.Request) bool { return !mended.Load() && strings.HasSuffix(r.URL.Path, "/transcript") })
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(9 * day)
		if n := u.Wire.Count(heavyCalls); n > 100 {
			t.Errorf("in nine days %d heavy calls for one transcript that never comes", n)
		}
		mended.Store(true)
		edit(t, u, 1, newest, `"title":"`, `"title":"Another `)
		time.Sleep(day)
		if c := meetingCounts(t, ar); c.WithTranscript != 1 {
			t.Errorf("a day after the meeting changed: %+v", c)
		}
	})
}

// A second reading that fails for good ends, until the next rotation.
func TestASecondReadingThatFailsForGoodEnds(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today().Add(-20*day), time.Hour))
		u.Wire.Handler = lackTranscripts(u.Wire.Handler)
		var fails atomic.Bool
		failing(u, func(r *http.Request) bool { return fails.Load() && strings.HasSuffix(r.URL.Path, "/transcript") })
		ar := readingAgain(t, u)
		time.Sleep(time.Hour)
		if c := meetingCounts(t, ar); c.WithTranscript != 1 {
			t.Fatalf("at first: %+v", c)
		}
		fails.Store(true)
		alone := func(c rig.Call) bool { return strings.HasSuffix(c.Path, "/transcript") }
		before := u.Wire.Count(alone)
		time.Sleep(38 * day)
		if n := u.Wire.Count(alone) - before; n != 36 {
			t.Errorf("%d calls for six readings", n)
		}
		marks, err := ar.Marks(t.Context(), "sync/ask/")
		open, failed := ar.Failures(t.Context(), true)
		if err != nil || failed != nil || len(marks) != 0 || len(open) != 1 || !open[0].NextTry.IsZero() {
			t.Errorf("at the end: tasks %q, failures %+v, %v, %v", marks, open, err, failed)
		}
	})
}
