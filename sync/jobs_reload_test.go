package syncer_test

import (
	"testing"
	"testing/synctest"
	"time"

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
