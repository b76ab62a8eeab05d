package syncer_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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

// lackTranscripts has lists show no transcript, though it is asked for and there. Meeting 1 has no summary.
func lackTranscripts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/recordings/1/summary") {
			http.NotFound(w, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		var page map[string]json.RawMessage
		var items []map[string]json.RawMessage
		if strings.HasSuffix(r.URL.Path, "/meetings") && json.Unmarshal(body, &page) == nil && json.Unmarshal(page["items"], &items) == nil {
			for _, item := range items {
				item["transcript"] = json.RawMessage("null")
				if string(item["recording_id"]) == "1" {
					item["default_summary"] = json.RawMessage("null")
				}
			}
			page["items"], _ = json.Marshal(items) // of JSON: it cannot fail
			body, _ = json.Marshal(page)
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

// Where a list never shows the transcripts, the call for a transcript alone shows how it was edited: in
// the next night for a meeting of the last seven days, within the rotation's month for an older one.
func TestEditsThatListsLackAreReadAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		const between = 20 * day
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(2, newest, between)) // number 2 is the newest
		u.Wire.Handler = lackTranscripts(u.Wire.Handler)
		ar := readingAgain(t, u)
		time.Sleep(time.Hour)
		edit(t, u, 2, newest, "So it is", "So it was")
		edit(t, u, 1, newest.Add(-between), "So it is", "So it was")
		alone := func(c rig.Call) bool { return c.Path == "/recordings/2/transcript" }
		before := u.Wire.Count(alone)
		time.Sleep(2 * day)
		if !changed(t, ar, 2) {
			t.Error("an edit of today's transcript is not read in the next night")
		}
		if n := u.Wire.Count(alone) - before; n != 2 {
			t.Errorf("in two nights the transcript is read %d times", n)
		}
		time.Sleep(33 * day)
		if !changed(t, ar, 1) {
			t.Error("an edit of an older transcript is not read within the month")
		}
	})
}

// Many meetings at once, whose transcripts no list ever shows, are read one by one, though there are
// more than are asked for alone, and though one of them has no transcript yet.
func TestContentThatListsLackIsReadAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 30
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, newest, time.Hour))
		u.Wire.Handler = lackTranscripts(u.Wire.Handler)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{CatchUp: "*/5 * * * *"},
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		silent := int64(count)
		for id := int64(2); id <= count; id++ {
			raw := rig.Meeting(id, time.Now().Add(time.Duration(id)*time.Second))
			if id == silent {
				raw = withoutTranscripts(t, raw)
			}
			ob, err := archive.FromMeeting(archive.LocalAccount, archive.SourceImport, time.Now(), raw)
			if err == nil {
				_, err = u.Archive.Apply(t.Context(), []archive.Observation{ob})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		if c := meetingCounts(t, ar); c.Meetings != count || c.WithTranscript != count-1 {
			t.Errorf("after two hours %+v", c)
		}
	})
}

// Where a list never shows the transcripts, and the call for it alone had none for as long as an old
// meeting's is awaited, the rotation's month asks for it again.
func TestContentThatWasAwaitedInVainIsReadWithinTheMonth(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(1, rig.Today().Add(-30*day), time.Hour))
		next, exists := lackTranscripts(u.Wire.Handler), time.Now().Add(10*day)
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/transcript") && time.Now().Before(exists) {
				http.NotFound(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
		ar := readingAgain(t, u)
		time.Sleep(9 * day)
		if c := meetingCounts(t, ar); c.Meetings != 1 || c.WithTranscript != 0 {
			t.Fatalf("after nine days %+v", c)
		}
		time.Sleep(35 * day)
		if c := meetingCounts(t, ar); c.WithTranscript != 1 {
			t.Errorf("after a month %+v", c)
		}
	})
}
