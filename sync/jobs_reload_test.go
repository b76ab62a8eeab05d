package syncer_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// TestReloadsPutOffNoJob loads the same configuration more often than a job is due that runs at an
// interval.
func TestReloadsPutOffNoJob(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, o := newOrganisation(t, "account_admin")
		s, stop := running(t, o)
		defer stop()
		for range 24 {
			zone, err := time.LoadLocation("Europe/Berlin")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.SetSchedule(syncer.Schedule{Directory: "@every 3h", Walk: "0 4 * * *", Location: zone}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if last := lastOf(t, s, "ada", syncer.JobDirectory); time.Since(last) > 3*time.Hour {
			t.Errorf("a job of every three hours ran last at %v; it is %v", last, time.Now())
		}
	})
}

// TestAReloadAfterASleepKeepsWhatWasDue has a machine sleep through a job's time. At its end
// another schedule is loaded, before anybody has looked at the clock.
func TestAReloadAfterASleepKeepsWhatWasDue(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, o := newOrganisation(t, "account_admin")
		clock := rig.NewClock()
		o.Now = clock.Now
		s, stop := running(t, o)
		defer stop()
		time.Sleep(36*time.Hour + 7*time.Minute) // from noon on
		clock.Set(time.Hour)
		woken := clock.Now()
		if err := s.SetSchedule(syncer.Schedule{Directory: "0 23 * * *"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if last := lastOf(t, s, "ada", syncer.JobDirectory); last.Before(woken.Truncate(time.Second)) {
			t.Errorf("the job that was due at 00:30 ran last at %v; the machine woke at %v", last, woken)
		}
	})
}

// TestAnotherScheduleKeepsWhatIsMadeUp starts without a network after a night, and loads another
// schedule meanwhile, whose time has passed today.
func TestAnotherScheduleKeepsWhatIsMadeUp(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		_, stop := running(t, o)
		time.Sleep(18 * time.Hour) // from noon on
		stop()
		time.Sleep(24 * time.Hour)
		up := time.Now().Add(4 * time.Hour)
		u.Wire.Fail = func(int, *http.Request, bool) error {
			if time.Now().Before(up) {
				return errors.New("network is unreachable")
			}
			return nil
		}
		s, stop := running(t, o) // at six
		defer stop()
		time.Sleep(2 * time.Hour)
		if err := s.SetSchedule(syncer.Schedule{Directory: "0 7 * * *"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Hour)
		if last := lastOf(t, s, "ada", syncer.JobDirectory); last.Before(up) {
			t.Errorf("the job ran last at %v, and the network came at %v", last, up)
		}
	})
}

// TestAnAccountWithAnotherKeyRunsTheJobThatItsKeyCutOff gives an account another key while a
// nightly job runs, whose last call takes a minute to end.
func TestAnAccountWithAnotherKeyRunsTheJobThatItsKeyCutOff(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		s, stop := running(t, o)
		defer stop()
		time.Sleep(36*time.Hour + 29*time.Minute) // from noon on
		began := time.Now()
		slow := true
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if slow && strings.HasSuffix(r.URL.Path, "/meeting_types") {
				slow = false
				time.Sleep(2 * time.Minute)
				return errors.New("connection reset")
			}
			return nil
		}
		time.Sleep(2 * time.Minute)
		if slow {
			t.Fatal("the job does not run")
		}
		if err := s.SetAccounts([]syncer.Account{{Name: "ada", Client: u.Client(t, o.Archive)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if last := lastOf(t, s, "ada", syncer.JobDirectory); last.Before(began) {
			t.Errorf("the job of 00:30 ran last at %v", last)
		}
	})
}

// TestABackfillThatLosesItsTimeEnds takes a backfill that fails off the schedule: it runs only on
// request then.
func TestABackfillThatLosesItsTimeEnds(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		up := time.Now().Add(time.Hour)
		u.Wire.Fail = func(int, *http.Request, bool) error {
			if time.Now().Before(up) {
				return errors.New("network is unreachable")
			}
			return nil
		}
		s, stop := running(t, o)
		defer stop()
		time.Sleep(30 * time.Minute)
		if err := s.SetSchedule(syncer.Schedule{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if c := meetingCounts(t, o.Archive); c.Meetings > 0 {
			t.Errorf("%d meetings are read", c.Meetings)
		}
	})
}
