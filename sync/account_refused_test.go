package syncer_test

import (
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

// refuseAll has the service answer every call with a status, as it does with the keys of
// deactivated users, from a call on whose path has from in it, until the returned value is 0.
func refuseAll(u *rig.Upstream, from string, code int32) *atomic.Int32 {
	var refuses, isOver atomic.Int32
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, from) && isOver.CompareAndSwap(0, 1) {
			refuses.Store(code)
		}
		if code := refuses.Load(); code != 0 {
			w.WriteHeader(int(code))
			fmt.Fprint(w, `{"error": "this user is not active"}`)
			return
		}
		inner.ServeHTTP(w, r)
	})
	return &refuses
}

// A user is deactivated just before the recordings, or the late content, are asked for, or while a
// recording is generated: these are no lasting refusals, and no failures of the recording.
func TestARefusedAccountIsRefusedNoRecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, code := range []int32{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity} {
		for _, from := range []string{"/download", "/downloads/", "/transcript"} {
			t.Run(fmt.Sprint(code, from), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					created := rig.Today().Add(-time.Minute)
					u := rig.NewUpstream(t, service.Options{Generation: time.Minute, Video: rig.File(500)}, withoutTranscripts(t, rig.Meetings(1, created, time.Hour)))
					ar := rig.NewArchive(t, archivetest.Dir(t))
					refuses := refuseAll(u, from, code)
					s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
						Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
					defer stop()
					time.Sleep(30 * time.Minute)
					if refuses.Load() == 0 {
						t.Fatal("nothing was refused")
					}
					if d := queued(t, ar, 1); len(d.RefusedBy) > 0 || d.State == archive.DownloadRefused || d.Failures > 0 {
						t.Errorf("while the user is deactivated: %+v", d)
					}
					st, err := s.Status(t.Context())
					if suspended := st.Accounts[0].Suspended != ""; err != nil || !suspended {
						t.Errorf("suspended %t, %v", suspended, err)
					}
					edit(t, u, 1, created, "", "")
					refuses.Store(0)
					time.Sleep(26 * time.Hour)
					if c := meetingCounts(t, ar); c.WithRecording != 1 || c.WithTranscript != 1 {
						t.Errorf("once the user is active again: %+v, %+v", c, queued(t, ar, 1))
					}
				})
			})
		}
	}
}

// A user is deactivated for longer than new recordings and late content are waited for: an old
// meeting has its recording, and a new one its transcript, once the user is active again.
func TestWhatIsRefusedWithTheAccountIsAskedForLater(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, code := range []int32{http.StatusNotFound, http.StatusUnprocessableEntity} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				now := rig.Today()
				u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, append(rig.Meetings(1, now.Add(-20*day), time.Hour),
					withoutTranscripts(t, rig.Meeting(2, now.Add(-time.Minute)))...))
				ar := rig.NewArchive(t, archivetest.Dir(t))
				refuses := refuseAll(u, "/download", code)
				_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(10 * day)
				if d := queued(t, ar, 1); d.State != archive.DownloadWanted || refuses.Load() == 0 {
					t.Errorf("while the user is deactivated: %+v", d)
				}
				edit(t, u, 2, now.Add(-time.Minute), "", "")
				refuses.Store(0)
				time.Sleep(2 * day)
				if c := meetingCounts(t, ar); c.WithRecording != 2 || c.WithTranscript != 2 {
					t.Errorf("once the user is active again: %+v", c)
				}
			})
		})
	}
}

// A user is deactivated moments after the service has accepted the account, beside refusals that
// are of a recording or of content alone: all later ones are no lasting refusals.
func TestAnAccountThatIsRefusedAfterItsCheck(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for path, code := range map[string]int{"/download": http.StatusUnprocessableEntity, "/transcript": http.StatusForbidden} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const meetings = 12
				created := rig.Today().Add(-20 * day)
				u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, withoutTranscripts(t, rig.Meetings(meetings, created, 3*day)))
				ar := rig.NewArchive(t, archivetest.Dir(t))
				var asked atomic.Int32
				var refuses atomic.Bool
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, path) && asked.Add(1) == 3 {
						refuses.Store(true)
					}
					if refuses.Load() || strings.HasSuffix(r.URL.Path, path) && asked.Load() < 3 {
						w.WriteHeader(code)
						return
					}
					inner.ServeHTTP(w, r)
				})
				s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(30 * time.Minute)
				if s.Suspended("ada") == "" {
					t.Fatal("the account is not suspended")
				}
				for i := range meetings {
					edit(t, u, int64(i+1), created.Add(-time.Duration(i)*3*day), "", "")
				}
				refuses.Store(false)
				time.Sleep(3 * day)
				has := meetingCounts(t, ar).WithTranscript
				if path == "/download" {
					has = meetingCounts(t, ar).WithRecording
				}
				if has < meetings-2 {
					t.Errorf("once the user is active again, %d of %d have it", has, meetings)
				}
			})
		})
	}
}

// The first list that a backfill reads, to learn how long the history is, is refused with the account.
func TestABackfillOfADeactivatedUserIsSuspended(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		refuseAll(u, "/meetings", http.StatusUnprocessableEntity)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(4 * time.Minute)
		if s.Suspended("ada") == "" {
			t.Error("the account is not suspended")
		}
	})
}

// A list that is answered some 4xx suspends the account within one run of a job, whichever it
// is, and a list that alone is refused does not.
func TestARefusedListOfMeetingsIsNotTheAccount(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, c := range []struct {
		all  bool
		code int
	}{{true, http.StatusNotFound}, {false, http.StatusNotFound}, {true, http.StatusForbidden}, {false, http.StatusForbidden}, {false, http.StatusGone}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
				var refuses atomic.Bool
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if refuses.Load() && (c.all || strings.HasSuffix(r.URL.Path, "/meetings")) {
						w.WriteHeader(c.code)
						return
					}
					inner.ServeHTTP(w, r)
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{CatchUp: "*/5 * * * *"},
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(time.Minute)
				refuses.Store(true)
				time.Sleep(10 * time.Minute)
				if reason := s.Suspended("ada"); (reason != "") != c.all {
					t.Errorf("suspended: %q", reason)
				}
			})
		})
	}
}
