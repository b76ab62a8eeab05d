package syncer_test

import (
	"errors"
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

// TestAnAccountThatIsAddedIsAskedForRecordingsOnceTheDiskIsWell adds an account that sees a recording
// which was refused to the other one, while nothing can be committed.
func TestAnAccountThatIsAddedIsAskedForRecordingsOnceTheDiskIsWell(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, append(rig.Meetings(1, newest, time.Hour), meetingOfBob(90, newest)...))
		share(t, u, fmt.Sprintf(`{"recording_id": 90, "user": %q}`, rig.Person))
		refuse(u, http.StatusForbidden, func(r *http.Request) bool { return r.Method == http.MethodPost && isOf(u, r) })
		ar := rig.NewArchive(t, archivetest.Dir(t))
		accounts := []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: clientOf(t, u, bob)}}
		_, stop := running(t, syncer.Options{Archive: ar, Accounts: accounts})
		time.Sleep(time.Hour)
		stop()
		var fails atomic.Bool
		onCommit(t, ar.DB(), func() int {
			if fails.Load() {
				return 1
			}
			return 0
		})
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: accounts[:1]})
		defer stop()
		time.Sleep(time.Hour)
		if d := queued(t, ar, 90); d.State != archive.DownloadRefused {
			t.Fatalf("at first %+v", d)
		}
		fails.Store(true)
		if err := s.SetAccounts(accounts); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		fails.Store(false)
		time.Sleep(time.Hour)
		if d := queued(t, ar, 90); d.State != archive.DownloadDone {
			t.Errorf("an hour after the disk was well: %+v", d)
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
