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

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// upstreamWithLateRecordings returns a service with a meeting, and requests for recordings that it
// answers with an error until they exist.
func upstreamWithLateRecordings(t *testing.T, code int) (u *rig.Upstream, exist *atomic.Bool) {
	u, exist = rig.NewUpstream(t, service.Options{Video: rig.File(500)}, rig.Meetings(1, rig.Today().Add(-time.Minute), time.Hour)), &atomic.Bool{}
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !exist.Load() {
			w.WriteHeader(code)
			return
		}
		inner.ServeHTTP(w, r)
	})
	return u, exist
}

// A recording that does not exist yet, or is not found yet, when it is asked for first is
// fetched when it does, also where lists do not say when its meeting was.
func TestARecordingIsAwaited(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, code := range []int{http.StatusUnprocessableEntity, http.StatusNotFound} {
		for name, lacked := range map[string]string{"all times": `"none"`, "no creation": `"created_at"`, "no times": `"\w+_(at|time)"`} {
			t.Run(fmt.Sprint(code, " ", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					u, exist := upstreamWithLateRecordings(t, code)
					intercept(u, func(r *http.Request, body []byte) []byte {
						if strings.HasSuffix(r.URL.Path, "/meetings") {
							return regexp.MustCompile(lacked).ReplaceAll(body, []byte(`"lacked"`))
						}
						return body
					})
					ar := rig.NewArchive(t, archivetest.Dir(t))
					s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
						Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
					defer stop()
					time.Sleep(4 * time.Hour)
					if n := len(requested(u, 1)); n != 5 {
						t.Errorf("asked for %d times in four hours", n)
					}
					if st, err := s.Status(t.Context()); err != nil || len(st.Failures)+len(st.Problems) > 0 {
						t.Errorf("status: %+v, %q, %v", st.Failures, st.Problems, err)
					}
					time.Sleep(4 * 24 * time.Hour)
					exist.Store(true)
					time.Sleep(25 * time.Hour)
					if d := queued(t, ar, 1); d.State != archive.DownloadDone {
						t.Errorf("a day after it exists: %+v", d)
					}
				})
			})
		}
	}
}

// A meeting is not shown for a night, before its recording exists: the recording is awaited again
// once the meeting is back.
func TestARecordingIsAwaitedWhereItsMeetingComesBack(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Minute)
		u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, append(rig.Meetings(7, newest, time.Hour), meetingOfBob(90, newest)...))
		shared := fmt.Sprintf(`{"recording_id": 90, "user": %q}`, rig.Person)
		share(t, u, shared)
		var exist atomic.Bool
		refuse(u, http.StatusUnprocessableEntity, func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/recordings/90/") && !exist.Load()
		})
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Schedule: syncer.Schedule{Walk: "0 2 * * *"},
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(6 * time.Hour)
		for _, gone := range []int{1, 0} {
			if share(t, u); gone == 0 {
				share(t, u, shared)
			}
			time.Sleep(day + 6*time.Hour)
			if c := meetingCounts(t, ar); c.Gone != gone {
				t.Fatalf("%d meetings should be gone: %+v", gone, c)
			}
		}
		exist.Store(true)
		time.Sleep(2 * day)
		if d := queued(t, ar, 90); d.State != archive.DownloadDone {
			t.Errorf("two days after it exists, requested %d times: %+v", len(requested(u, 90)), d)
		}
	})
}

// This machine's clock is wrong by weeks when a recording is asked for that does not exist yet: the
// service's clock says that its meeting is young.
func TestARecordingIsAwaitedWhateverTheClockSays(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, ahead := range []time.Duration{-20 * day, 20 * day} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, exist := upstreamWithLateRecordings(t, http.StatusUnprocessableEntity)
				intercept(u, func(_ *http.Request, body []byte) []byte { return body }) // answers have a Date
				clock := rig.NewClock()
				clock.Set(ahead)
				ar := rig.NewArchive(t, archivetest.Dir(t))
				client, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, Credential: api.APIKey(u.Key), HTTP: u.HTTP(), Now: clock.Now})
				if err != nil {
					t.Fatal(err)
				}
				_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Now: clock.Now,
					Schedule: syncer.Schedule{CatchUp: "*/5 * * * *"}, Accounts: []syncer.Account{{Name: "ada", Client: client}}})
				defer stop()
				time.Sleep(2 * time.Hour)
				if d := queued(t, ar, 1); d.State != archive.DownloadWanted {
					t.Errorf("asked for %d times in two hours, then %+v", len(requested(u, 1)), d)
				}
				clock.Set(0)
				exist.Store(true)
				time.Sleep(2 * day)
				if d := queued(t, ar, 1); d.State != archive.DownloadDone {
					t.Errorf("two days after it exists, asked for %d times: %+v", len(requested(u, 1)), d)
				}
			})
		})
	}
}
