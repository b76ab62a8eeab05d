package syncer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

// intercept puts something between the service and its callers: the bytes that edit
// returns are answered instead, with a Date by the bubble's clock.
func intercept(u *rig.Upstream, edit func(r *http.Request, body []byte) []byte) {
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		for key, values := range rec.Header() {
			w.Header()[key] = values
		}
		w.Header().Del("Content-Length")
		w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		w.WriteHeader(rec.Code)
		w.Write(edit(r, rec.Body.Bytes()))
	})
}

// absences are the lines of status about missing meetings.
func absences(t *testing.T, s *syncer.Syncer) (notices []string) {
	t.Helper()
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range st.Failures {
		if f.Class == "absence" {
			notices = append(notices, f.Reason)
		}
	}
	return notices
}

// While the second walk that has to confirm an implausible one cannot be made, status
// names the meetings that the first one lacked, and nothing is gone.
func TestStatusTellsOfADoubtedWalk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(45, rig.Today().Add(-time.Hour), time.Hour))
		var answers atomic.Int32
		intercept(u, func(r *http.Request, body []byte) []byte {
			switch n := answers.Add(1); {
			case n < 1:
				return body
			case n == 1:
				return []byte(emptyList)
			}
			return []byte("<html>")
		})
		answers.Store(-1 << 20)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		answers.Store(0)
		time.Sleep(13*time.Hour + 30*time.Minute) // the walk was at two
		if c := meetingCounts(t, ar); c.Gone != 0 || c.Meetings != 45 {
			t.Errorf("after a night: %+v", c)
		}
		if notices := absences(t, s); len(notices) != 1 || !strings.Contains(notices[0], "a complete walk lacked 45 of the 45") {
			t.Errorf("status says %q", notices)
		}
	})
}

const emptyList = `{"limit":10,"next_cursor":null,"items":[]}`

// A walk that lacks too much is followed by another one at once, which decides.
func TestAnEmptyListIsNotBelievedOnce(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for empty, want := range map[int32]struct {
		gone int
		says string
	}{1: {0, ""}, 2: {45, "two complete walks lacked 45 of the 45"}} {
		t.Run(fmt.Sprintf("%d empty lists", empty), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(45, rig.Today().Add(-time.Hour), time.Hour))
				var left atomic.Int32
				intercept(u, func(r *http.Request, body []byte) []byte {
					if left.Add(-1) >= 0 {
						return []byte(emptyList)
					}
					return body
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(time.Hour)
				left.Store(empty)
				time.Sleep(13*time.Hour + 30*time.Minute) // the walk was at two
				if c := meetingCounts(t, ar); c.Gone != want.gone || c.Meetings != 45 {
					t.Errorf("after a night: %+v; want %d gone", c, want.gone)
				}
				if notices := strings.Join(absences(t, s), "; "); (notices == "") != (want.says == "") || !strings.Contains(notices, want.says) {
					t.Errorf("status says %q; want %q", notices, want.says)
				}
				time.Sleep(24 * time.Hour)
				if c := meetingCounts(t, ar); c.Gone != 0 || len(absences(t, s)) != 0 {
					t.Errorf("after a good night: %+v, %q", c, absences(t, s))
				}
			})
		})
	}
}

// A walk with an item that cannot be read is not without error.
func TestAnUnreadableItemIsNotAnAbsence(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, rig.Today().Add(-time.Hour), time.Hour))
		var broken atomic.Bool
		intercept(u, func(r *http.Request, body []byte) []byte {
			if broken.Load() {
				return bytes.ReplaceAll(body, []byte(`"recording_id":24,`), []byte(`"recording_id":null,`))
			}
			return body
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		broken.Store(true)
		time.Sleep(24 * time.Hour)
		if c, notices := meetingCounts(t, ar), absences(t, s); c.Gone != 0 || len(notices) != 1 || !strings.Contains(notices[0], "1 items of the list could not be read") {
			t.Errorf("%+v, status says %q", c, notices)
		}
		broken.Store(false)
		time.Sleep(24 * time.Hour)
		if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 0 {
			t.Errorf("once it can be read: %+v, %v", st.Failures, err)
		}
	})
}

// An item that the archive can never take keeps no other from being read.
func TestAnItemThatCannotBeKeptIsLeftOut(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(25, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		exec := func(query string) {
			if _, err := ar.DB().W.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
		exec(`CREATE TRIGGER bad BEFORE INSERT ON meetings WHEN new.recording_id IN (4, 21, 22) BEGIN SELECT RAISE(ABORT, 'never'); END`)
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(24 * time.Hour)
		if c, notices := meetingCounts(t, ar), absences(t, s); c.Meetings != 22 || c.Gone != 0 || len(notices) != 1 || !strings.Contains(notices[0], "3 items of the list could not be read") {
			t.Errorf("%+v, status says %q", c, notices)
		}
		open, err := ar.Failures(t.Context(), true)
		if i := slices.IndexFunc(open, func(f archive.Failure) bool { return f.Class == "list" }); err != nil || i < 0 || !strings.Contains(open[i].Reason, fmt.Sprintf("of %d:", open[i].RecordingID)) {
			t.Errorf("the failure is of another meeting than its reason says: %+v, %v", open, err)
		}
		exec(`DROP TRIGGER bad`)
		time.Sleep(24 * time.Hour)
		if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 0 || meetingCounts(t, ar).Meetings != 25 {
			t.Errorf("once they can be kept: %+v, %v", st.Failures, err)
		}
	})
}

// A meeting without created_at is on no page with a bound of that time. It is
// read though history is cut into windows, and is not gone because of them.
func TestAMeetingWithoutADateIsRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		created := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, append(append(rig.Meetings(405, created.Add(-time.Hour), time.Hour), rig.Meeting(1000, created)...), '\n'))
		intercept(u, func(r *http.Request, body []byte) []byte {
			if q := r.URL.Query(); q.Has("created_after") || q.Has("created_before") {
				return bytes.ReplaceAll(body, []byte(`"recording_id":1000,`), []byte(`"recording_id":1,`)) // it is on no such page
			}
			return bytes.ReplaceAll(body, fmt.Appendf(nil, `"created_at":%q,`, created.Format(time.RFC3339)), nil)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s := newSyncer(t, u, ar)
		for _, isFull := range []bool{false, true, false} {
			if err := s.Sync(t.Context(), syncer.Request{Full: isFull}, nil); err != nil {
				t.Fatal(err)
			}
			if row, err := ar.Row(t.Context(), 1000); err != nil || row.Gone || !row.HasTranscript {
				t.Errorf("full %t: %+v, %v", isFull, row, err)
			}
		}
	})
}

// A catch-up that was interrupted, and a long time in which nothing ran, keep
// nothing from the next one.
func TestAnInterruptedCatchUpBeginsAnew(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Hold: 25}, rig.Meetings(40, rig.Today().Add(time.Hour), time.Minute))
		finish := func(n int) {
			for range n {
				if _, ok, err := u.Service.Finish(t.Context()); err != nil || !ok {
					t.Fatal(ok, err)
				}
			}
		}
		var cut atomic.Bool
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if cut.Load() && r.URL.Query().Get("cursor") != "" {
				return rig.ErrCut
			}
			return nil
		}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, Schedule: syncer.Schedule{CatchUp: "*/5 * * * *"}, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		_, stop := running(t, o)
		time.Sleep(time.Hour)
		cut.Store(true)
		finish(24) // three pages of a catch-up, of which one is read
		time.Sleep(6 * time.Minute)
		stop()
		finish(1)
		time.Sleep(10 * time.Hour)
		_, stop = running(t, o) // interrupted once more
		time.Sleep(6 * time.Minute)
		stop()
		time.Sleep(10 * time.Hour)
		cut.Store(false)
		_, stop = running(t, o)
		defer stop()
		time.Sleep(11 * time.Minute)
		if c := meetingCounts(t, ar); c.Meetings != 40 {
			t.Errorf("after the downtime: %+v", c)
		}
	})
}

// No walk asks for any part of a forgotten meeting again.
func TestNothingIsReadOfWhatWasForgotten(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(15, rig.Today().Add(-100*24*time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		schedule := walkSchedule()
		schedule.CatchUp = "@hourly"
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: schedule, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		for _, id := range []int64{3, 12} {
			if _, err := ar.Forget(t.Context(), id, "a test"); err != nil {
				t.Fatal(err)
			}
		}
		before := len(u.Wire.Calls())
		time.Sleep(24 * time.Hour)
		for _, c := range u.Wire.Calls()[before:] {
			if c.Heavy {
				t.Errorf("a heavy call %+v", c)
			}
		}
		if marks, err := ar.Marks(t.Context(), "sync/ask/"); err != nil || len(marks) != 0 {
			t.Errorf("tasks: %q, %v", marks, err)
		}
	})
}

// A cursor that is a place in the list skips meetings when others leave the pages before it.
// Those that are listed still are not removed upstream, though the first list that is asked for
// them is empty; those that are not listed, are, that night.
func TestAMeetingThatAPageSkipsIsNotGone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(35, newest, time.Hour))
		var skips, emptied atomic.Bool
		intercept(u, func(r *http.Request, body []byte) []byte {
			q := r.URL.Query()
			if skips.Load() && q.Get("created_after") != "" && bytes.Contains(body, []byte(`"recording_id":20,`)) && emptied.CompareAndSwap(false, true) {
				return []byte(emptyList)
			}
			if !skips.Load() {
				return body
			}
			return skipPastFirst(t, r, body, 20) // it is on the second page
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Minute)
		edit(t, u, 34, newest.Add(-time.Hour), rig.Person, "eve@elsewhere.example") // left the first page
		skips.Store(true)
		before := len(u.Wire.Calls())
		time.Sleep(day)
		if row, err := ar.Row(t.Context(), 20); err != nil || row.Gone {
			t.Errorf("the meeting that a page skipped: %+v, %v", row, err)
		}
		if row, err := ar.Row(t.Context(), 34); err != nil || !row.Gone {
			t.Errorf("the meeting that left the list: %+v, %v", row, err)
		}
		if n := len(u.Wire.Calls()) - before; n != 8 {
			t.Errorf("%d calls for a walk of four pages and two looks, both of them again", n)
		}
	})
}

// skipPastFirst has each page but the first of a list without bounds leave a meeting out.
func skipPastFirst(t *testing.T, r *http.Request, body []byte, id float64) []byte {
	q := r.URL.Query()
	if !strings.HasSuffix(r.URL.Path, "/meetings") || q.Get("cursor") == "" || q.Get("created_after") != "" {
		return body
	}
	var page map[string]any
	if err := json.Unmarshal(body, &page); err != nil {
		t.Error(err)
	}
	page["items"] = slices.DeleteFunc(page["items"].([]any), func(item any) bool { return item.(map[string]any)["recording_id"] == id })
	body, _ = json.Marshal(page)
	return body
}

// A meeting that a page skips is not gone either where many were created at the same time: the list of
// these is read to its end. Where it has none, nothing is gone, and status says so.
func TestASkippedMeetingOfManyThatWereCreatedTogetherIsNotGone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, isEndless := range []bool{false, true} {
		t.Run(fmt.Sprintf("endless %t", isEndless), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				newest := rig.Today().Add(-time.Hour)
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(45, newest, 0))
				var skips atomic.Bool
				var cursors atomic.Int64
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if q := r.URL.Query(); isEndless && q.Get("created_after") != "" {
						q.Del("cursor") // it is none of this service's
						r.URL.RawQuery = q.Encode()
					}
					inner.ServeHTTP(w, r)
				})
				intercept(u, func(r *http.Request, body []byte) []byte {
					switch {
					case !skips.Load():
						return body
					case isEndless && r.URL.Query().Get("created_after") != "":
						return fmt.Appendf(nil, `{"limit":10,"next_cursor":"c%d","items":[]}`, cursors.Add(1))
					}
					return skipPastFirst(t, r, body, 5)
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(time.Minute)
				edit(t, u, 44, newest, rig.Person, "eve@elsewhere.example") // left the first page
				skips.Store(true)
				time.Sleep(day)
				if row, err := ar.Row(t.Context(), 5); err != nil || row.Gone {
					t.Errorf("the meeting that a page skipped: %+v, %v", row, err)
				}
				if row, err := ar.Row(t.Context(), 44); err != nil || row.Gone == isEndless {
					t.Errorf("the meeting that left the list: %+v, %v", row, err)
				}
				if notices := strings.Join(absences(t, s), "; "); strings.Contains(notices, "does not end") != isEndless {
					t.Errorf("status says %q", notices)
				}
			})
		})
	}
}
