package syncer_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// A walk that takes longer than its schedule's step, and a command meanwhile,
// never run two at a time: with one cursor there is one call at a time.
func TestNoJobRunsTwiceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(40, rig.Today().Add(-30*24*time.Hour), time.Hour))
		var slow atomic.Int64
		u.Wire.Delay = func(*http.Request) (time.Duration, time.Duration) {
			return time.Duration(slow.Load()), time.Duration(slow.Load())
		}
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Cursors: 1, Schedule: syncer.Schedule{Walk: "* * * * *"},
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(30 * time.Second)
		before := len(u.Wire.Calls())
		slow.Store(int64(20 * time.Second))
		time.Sleep(10 * time.Minute)
		var commands sync.WaitGroup
		for range 2 {
			commands.Go(func() {
				if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
					t.Error(err)
				}
			})
		}
		commands.Wait()
		calls := slices.DeleteFunc(u.Wire.Calls()[before:], func(c rig.Call) bool { return c.Path != "/meetings" })
		for i, c := range calls[1:] {
			if c.At.Before(calls[i].Answered) {
				t.Fatalf("two calls at a time: %+v, %+v", calls[i], c)
			}
		}
		if len(calls) < 16 {
			t.Errorf("%d calls", len(calls))
		}
	})
}

// A cursor that is refused restarts its window, and no other.
func TestARefusedCursorRestartsOnlyItsWindow(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const meetings = 420 // two windows
		start := rig.Today()
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, start.Add(-24*time.Hour), 2*time.Hour))
		u.Wire.Delay = func(*http.Request) (time.Duration, time.Duration) { return time.Second, time.Second }
		var pages sync.Map                 // windows, by their bounds: how many pages were asked for from their start
		var refused atomic.Pointer[string] // the cursor that is refused, with content and without
		next := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if q.Get("include_transcript") == "true" {
				if q.Get("created_before") == "" || q.Get("created_before") > start.Add(2*time.Second).Format(time.RFC3339) {
					t.Errorf("the backfill is not pinned to its start: %v", q)
				}
				n, _ := pages.LoadOrStore(q.Get("created_after")+" "+q.Get("created_before"), new(atomic.Int64))
				if q.Get("cursor") == "" {
					n.(*atomic.Int64).Add(1)
				} else if cursor := q.Get("cursor"); refused.CompareAndSwap(nil, &cursor) {
					http.Error(w, `{"error": "this cursor is no longer good"}`, http.StatusBadRequest)
					return
				}
			} else if cursor := refused.Load(); cursor != nil && q.Get("cursor") == *cursor {
				http.Error(w, `{"error": "this cursor is no longer good"}`, http.StatusBadRequest)
				return
			}
			next.ServeHTTP(w, r)
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		if err := newSyncer(t, u, ar).Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if c := meetingCounts(t, ar); c.WithTranscript != meetings {
			t.Fatalf("archive: %+v", c)
		}
		windows, again := 0, 0
		pages.Range(func(_, n any) bool {
			windows++
			again += int(n.(*atomic.Int64).Load()) - 1
			return true
		})
		if windows < 2 || again != 1 {
			t.Errorf("of %d windows %d were begun again", windows, again)
		}
		if n := u.Wire.Count(func(c rig.Call) bool { return c.Heavy }); n > meetings/10+windows+2 {
			t.Errorf("%d heavy calls for %d pages", n, meetings/10)
		}
	})
}

// Meetings that others recorded are not in the plain list; the lists of the configured
// recorders and teams show them, with content.
func TestPassesBringWhatOutsidersRecorded(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, outside := range map[string]struct {
		account syncer.Account
		edit    string
	}{
		"recorded_by": {syncer.Account{RecordedBy: []string{"eve@elsewhere.example"}}, ""},
		"teams":       {syncer.Account{Teams: []string{"Elsewhere"}}, `"team":"Elsewhere"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				newest := rig.Today().Add(-time.Hour)
				raw := strings.ReplaceAll(string(rig.Meeting(90, newest)), rig.Person, "eve@elsewhere.example")
				if outside.edit != "" {
					raw = strings.ReplaceAll(raw, `"team":"Research"`, outside.edit)
				}
				u := rig.NewUpstream(t, service.Options{}, append(rig.Meetings(3, newest, time.Hour), raw...))
				file := fmt.Sprintf(`{"users": [{"email": %q}], "teams": [], "meeting_types": [], "shares": [{"recording_id": 90, "user": %q}]}`, rig.Person, rig.Person)
				if err := u.Service.LoadDirectory(t.Context(), strings.NewReader(file), "shares"); err != nil {
					t.Fatal(err)
				}
				ar := rig.NewArchive(t, archivetest.Dir(t))
				o := syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
				sync := func() {
					s, err := syncer.New(o)
					if err != nil {
						t.Fatal(err)
					}
					if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
						t.Fatal(err)
					}
				}
				if sync(); meetingCounts(t, ar).Meetings != 3 {
					t.Fatalf("the plain list: %+v", meetingCounts(t, ar))
				}
				o.Accounts[0].RecordedBy, o.Accounts[0].Teams = outside.account.RecordedBy, outside.account.Teams
				if sync(); meetingCounts(t, ar).Meetings != 4 || meetingCounts(t, ar).WithTranscript != 4 {
					t.Errorf("with the pass: %+v", meetingCounts(t, ar))
				}
			})
		})
	}
}
