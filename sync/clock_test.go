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

// The clock is set while the daemon runs, between walks and in the middle of one.
// It decides neither which meetings are gone nor when a job runs again.
func TestAClockThatIsSetFreezesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, step := range []time.Duration{-10 * time.Minute, 10 * time.Minute, -26 * time.Hour, 26 * time.Hour, -3 * year, 10 * year} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { setClock(t, step) })
		})
	}
}

func setClock(t *testing.T, step time.Duration) {
	day := rig.Today()
	raw := rig.Meetings(25, day.Add(-time.Hour), 24*time.Hour)
	for i, hours := range []time.Duration{14, 22, 42} {
		raw = append(append(raw, rig.Meeting(int64(26+i), day.Add(hours*time.Hour))...), '\n')
	}
	u := rig.NewUpstream(t, service.Options{Hold: 3}, raw)
	clock := rig.NewClock()
	var pages atomic.Int32 // until the clock is set
	intercept(u, func(r *http.Request, body []byte) []byte {
		if pages.Add(-1) == 0 {
			clock.Set(step)
		}
		return body
	})
	ar := rig.NewArchive(t, archivetest.Dir(t))
	client, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, Credential: api.APIKey(u.Key), HTTP: u.HTTP(), Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	schedule := syncer.Schedule{CatchUp: "15 * * * *", Walk: "0 */6 * * *"}
	s, stop := running(t, syncer.Options{Archive: ar, Schedule: schedule, Now: clock.Now, Accounts: []syncer.Account{{Name: "ada", Client: client}}})
	defer stop()
	time.Sleep(time.Hour)
	finish := func(when string, limit time.Duration) {
		t.Helper()
		before := meetingCounts(t, ar)
		if _, ok, err := u.Service.Finish(t.Context()); err != nil || !ok {
			t.Fatal(ok, err)
		}
		time.Sleep(limit)
		if c := meetingCounts(t, ar); c.Meetings != before.Meetings+1 || c.WithTranscript != c.Meetings {
			t.Errorf("%s, a new meeting: %+v, and before %+v", when, c, before)
		}
	}
	hide := func(when string, id int64, gone int) {
		t.Helper()
		edit(t, u, id, day, rig.Person, "eve@elsewhere.example")
		time.Sleep(13 * time.Hour)
		if c := meetingCounts(t, ar); c.Gone != gone || len(absences(t, s)) != 0 {
			t.Errorf("%s: %+v, %q; want %d gone", when, c, absences(t, s), gone)
		}
	}
	hide("before", 5, 1)
	finish("before", time.Hour)
	pages.Store(3) // of the next walk
	time.Sleep(7 * time.Hour)
	finish("while it is wrong", 7*time.Hour)
	hide("while it is wrong", 6, 2)
	clock.Set(0)
	finish("once it is right again", time.Hour)
	hide("once it is right again", 7, 3)
}

// A recording that a clock years ahead has dated in the queue, whether it waits, is
// generated or has a link, is fetched once the clock is right again.
func TestAClockThatWasAheadHoldsBackNoRecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, stopped := range []time.Duration{10 * time.Second, time.Minute, time.Hour} {
		t.Run(fmt.Sprint(stopped), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(4, rig.Today().Add(-time.Hour), time.Hour))
				offset := 10 * 365 * 24 * time.Hour
				ar := rig.NewArchive(t, archivetest.Dir(t))
				o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}},
					Now: func() time.Time { return time.Now().Round(0).Add(offset) }}
				_, stop := running(t, o)
				time.Sleep(stopped)
				stop()
				offset = 0
				_, stop = running(t, o)
				defer stop()
				time.Sleep(24 * time.Hour)
				if c := meetingCounts(t, ar); c.WithRecording != 4 {
					t.Errorf("a day later: %+v, the first %+v", c, queued(t, ar, 1))
				}
			})
		})
	}
}

// A clock is ahead or behind for a minute, while recordings are generated: each counts as requested
// long ago, during that minute or after it. Once the clock is right they are fetched, also by a
// program that was restarted.
func TestAClockThatWasWrongForAMinutePutsNoRecordingOff(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, tt := range []struct {
		wrong    time.Duration
		restarts bool
	}{{26 * time.Hour, false}, {26 * time.Hour, true}, {-26 * time.Hour, false}, {-26 * time.Hour, true}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(4, rig.Today().Add(-time.Hour), time.Hour))
				ar, clock := rig.NewArchive(t, archivetest.Dir(t)), rig.NewClock()
				o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Now: clock.Now,
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
				_, stop := running(t, o)
				time.Sleep(20 * time.Second)
				clock.Set(tt.wrong)
				time.Sleep(time.Minute)
				if tt.restarts {
					stop()
				}
				clock.Set(0)
				if tt.restarts {
					_, stop = running(t, o)
				}
				defer stop()
				time.Sleep(10 * time.Minute)
				if c := meetingCounts(t, ar); c.WithRecording != 4 {
					t.Errorf("ten minutes later: %+v, the first %+v", c, queued(t, ar, 1))
				}
			})
		})
	}
}

// A clock that was ahead by weeks when a recording was asked for that did not exist yet ends no
// waiting for it.
func TestAClockThatWasAheadEndsNoWaitingForARecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, code := range []int{http.StatusUnprocessableEntity, http.StatusNotFound} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, exist := upstreamWithLateRecordings(t, code)
				ar, clock := rig.NewArchive(t, archivetest.Dir(t)), rig.NewClock()
				_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Now: clock.Now, Schedule: walkSchedule(),
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(2 * time.Hour)
				clock.Set(40 * day)
				time.Sleep(time.Hour)
				if d := queued(t, ar, 1); d.State == archive.DownloadWanted {
					t.Fatalf("by the wrong clock a recording is awaited still: %+v", d)
				}
				clock.Set(0)
				time.Sleep(time.Hour)
				exist.Store(true)
				time.Sleep(2 * day)
				if d := queued(t, ar, 1); d.State != archive.DownloadDone {
					t.Errorf("two days after it exists: %+v", d)
				}
			})
		})
	}
}

// While the clock is ahead by more than a link lives, and where the service does not say how long
// that is, recordings are fetched all the same, and generated once.
func TestRecordingsComeWhateverTheClockSaysOfTheirLinks(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, c := range map[string]struct {
		offset time.Duration
		dated  bool // the service's answers have a Date
		lacked string
	}{
		"ahead":             {40 * day, true, ""},
		"ahead and no date": {40 * day, false, ""},
		"no expiry":         {0, true, `,"expires_at":"[^"]*"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(4, rig.Today().Add(-time.Hour), time.Hour))
				if c.dated {
					intercept(u, func(r *http.Request, body []byte) []byte {
						if c.lacked != "" && strings.Contains(r.URL.Path, "/downloads/") {
							return regexp.MustCompile(c.lacked).ReplaceAll(body, nil)
						}
						return body
					})
				}
				ar := rig.NewArchive(t, archivetest.Dir(t))
				_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}},
					Now:      func() time.Time { return time.Now().Round(0).Add(c.offset) }})
				defer stop()
				time.Sleep(time.Hour)
				if n := meetingCounts(t, ar).WithRecording; n != 4 || len(requested(u, 1)) != 1 {
					t.Errorf("%d recordings after an hour; the first was requested %d times: %+v", n, len(requested(u, 1)), queued(t, ar, 1))
				}
			})
		})
	}
}

// The machine sleeps, or its clock is set back by days: late content is asked for by the clock
// on the wall, as after a restart.
func TestLateContentFollowsTheClockOnTheWall(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, step := range []time.Duration{18 * time.Hour, -6 * 24 * time.Hour} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{}, withoutTranscripts(t, rig.Meetings(1, rig.Today().Add(-time.Minute), time.Hour)))
				ar, clock := rig.NewArchive(t, archivetest.Dir(t)), rig.NewClock()
				_, stop := running(t, syncer.Options{Archive: ar, Now: clock.Now, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(6 * time.Hour) // the next time is that after a day
				before := len(u.Wire.Calls())
				clock.Set(step)
				if time.Sleep(10 * time.Minute); len(u.Wire.Calls()) == before {
					t.Error("it was not asked for in the ten minutes after the clock has changed")
				}
			})
		})
	}
}
