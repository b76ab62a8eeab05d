package syncer_test

import (
	"fmt"
	"net/http"
	"regexp"
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

// TestAnEndlessListIsAFailure reads a list that shows its first page again and again
// under new cursors. The walk ends, status says why, and all is read once the list is
// right again.
func TestAnEndlessListIsAFailure(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, rig.Today().Add(-time.Hour), time.Hour))
		var endless atomic.Bool
		var cursors atomic.Int64
		named := regexp.MustCompile(`"next_cursor": ?(null|"[^"]*")`)
		inner := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); endless.Load() {
				q.Del("cursor")
				r.URL.RawQuery = q.Encode()
			}
			inner.ServeHTTP(w, r)
		})
		intercept(u, func(r *http.Request, body []byte) []byte {
			if !endless.Load() || !strings.HasSuffix(r.URL.Path, "/meetings") {
				return body
			}
			return named.ReplaceAll(body, fmt.Appendf(nil, `"next_cursor": "c%d"`, cursors.Add(1)))
		})
		endless.Store(true)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(10 * time.Minute)
		st, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, f := range st.Failures {
			said += f.Reason + "\n"
		}
		if !strings.Contains(said, "the list never ends") {
			t.Errorf("after %d pages of an endless list status says %q", cursors.Load(), said)
		}
		endless.Store(false)
		time.Sleep(12 * time.Hour)
		if c := meetingCounts(t, ar); c.Meetings != 25 || c.Gone != 0 {
			t.Errorf("once the list ends again: %+v", c)
		}
	})
}

// TestManyUnreadableItemsAreOneFailure reads a page of which nothing is a meeting: the
// failure is noted once, and says how many there are.
func TestManyUnreadableItemsAreOneFailure(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		intercept(u, func(r *http.Request, body []byte) []byte {
			if !strings.HasSuffix(r.URL.Path, "/meetings") {
				return body
			}
			return []byte(`{"limit":10,"next_cursor":null,"items":[{}` + strings.Repeat(`,{}`, 499) + `]}`)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		st, err := s.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range st.Failures {
			if f.Class == "list" && (f.Tries > 10 || !strings.Contains(f.Reason, "499 more")) {
				t.Errorf("noted %d times: %s", f.Tries, f.Reason)
			}
		}
	})
}

// TestAWindowThatIsReadAgainIsNotEndless refuses the cursor near the end of a window five
// times, so that its pages are listed again and again.
func TestAWindowThatIsReadAgainIsNotEndless(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings, pages = 300, 30
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, rig.Today().Add(-24*time.Hour), 10*time.Second))
		var read, refused atomic.Int64
		inner := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); strings.HasSuffix(r.URL.Path, "/meetings") && q.Get("cursor") == "" {
				read.Store(0)
			} else if read.Add(1) >= pages-1 && refused.Load() < 2*5 { // with content, and without
				refused.Add(1)
				http.Error(w, `{"error": "this cursor is no longer good"}`, http.StatusBadRequest)
				return
			}
			inner.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		if err := newSyncer(t, u, ar).Sync(t.Context(), syncer.Request{}, nil); err != nil || refused.Load() != 2*5 {
			t.Errorf("after %d refusals: %v", refused.Load(), err)
		}
		if c := meetingCounts(t, ar); c.Meetings != meetings {
			t.Errorf("archive: %+v", c)
		}
	})
}
