package syncer_test

import (
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

// A download that was requested long ago, when the program ended, is asked after before it
// counts as failed.
func TestAnOldRequestIsPolledFirst(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(500)}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		_, stop := running(t, o)
		time.Sleep(20 * time.Second)
		stop()
		if d := queued(t, ar, 1); d.State != archive.DownloadRequested {
			t.Fatalf("stopped too late: %+v", d)
		}
		time.Sleep(7 * time.Hour)
		_, stop = running(t, o)
		defer stop()
		time.Sleep(10 * time.Minute)
		if d := queued(t, ar, 1); d.State != archive.DownloadDone || d.Failures != 0 || d.Requests != 1 {
			t.Errorf("seven hours later: %+v", d)
		}
	})
}
