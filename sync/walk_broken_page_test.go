package syncer_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
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

// asksForContent reports whether a call is for a page of the meetings with their content.
func asksForContent(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/meetings") && r.URL.Query().Has("include_transcript")
}

// breakPages has each page with content fail that shows meeting 20.
func breakPages(u *rig.Upstream, fail http.HandlerFunc) {
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asksForContent(r) {
			rec := httptest.NewRecorder()
			inner.ServeHTTP(rec, r)
			if bytes.Contains(rec.Body.Bytes(), []byte(`"recording_id":20,`)) {
				fail(w, r)
				return
			}
		}
		inner.ServeHTTP(w, r)
	})
}

// internalError is the answer of a service that fails.
func internalError(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
}

// A meeting whose content no page can have is read like the others, and so are those behind it.
func TestOneMeetingThatBreaksItsPageHoldsUpNoOther(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, fail := range map[string]http.HandlerFunc{
		"fails":   internalError,
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"limit":10,"items":[{"rec`)) },
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`meetings`)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(45, rig.Today().Add(-time.Hour), 6*time.Hour))
				breakPages(u, fail)
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(time.Hour)
				st, err := s.Status(t.Context())
				if c := meetingCounts(t, ar); c.WithTranscript != 45 || c.WithSummary != 45 || err != nil || len(st.Failures) > 0 {
					t.Errorf("after an hour: %+v, %+v, %v", c, st.Failures, err)
				}
			})
		})
	}
}

// The service refuses content in lists to a key as it does to apps.
func TestAKeyThatMayNotIncludeContentIsReadLikeAnApp(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, rig.Today().Add(-20*day), time.Hour))
		refuse(u, http.StatusBadRequest, asksForContent)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		if c := meetingCounts(t, ar); c.WithTranscript != 25 || c.WithSummary != 25 {
			t.Errorf("after an hour: %+v", c)
		}
	})
}

// A rotation reads on behind a page that fails with content.
func TestARotationGoesOnBehindAPageThatFails(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-20 * day)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, newest, time.Hour))
		ar := readingAgain(t, u)
		time.Sleep(time.Hour)
		breakPages(u, internalError)
		for _, id := range []int64{1, 20} {
			edit(t, u, id, newest.Add(-time.Duration(25-id)*time.Hour), "So it is", "So it was")
		}
		time.Sleep(33 * day)
		for _, id := range []int64{1, 20} {
			if !changed(t, ar, id) {
				t.Errorf("an edit of meeting %d is not read within the month", id)
			}
		}
	})
}

// While all of the service fails, a page is asked for once without content for each time that it was
// asked for with it in vain.
func TestAServiceThatIsDownGetsFewCallsMore(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, rig.Today().Add(-20*day), time.Hour))
		var isDown atomic.Bool
		var heavy, light int
		failing(u, func(r *http.Request) bool {
			if asksForContent(r) {
				isDown.Store(true)
				heavy++
			} else if isDown.Load() {
				light++
			}
			return isDown.Load()
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		time.Sleep(2 * time.Hour)
		stop()
		if heavy == 0 || light > heavy/6 {
			t.Errorf("%d calls with content, and %d without", heavy, light)
		}
	})
}
