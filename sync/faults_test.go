package syncer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/service"
	syncer "minutebook/sync"
)

func TestEverythingArrivesFromAnUnreliableService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{
			Generation: 35 * time.Second, Video: rig.File(40_000),
			Faults: "seed=7,429=0.03,502=0.03,503=0.03,reset=0.03,truncate=0.03,late=0.3,repeat=0.2,cursor=0.05,expire=0.1,noheaders=0.3,length=0.05,fail=0.05,timeout=0.05",
		}, rig.Meetings(60, now.Add(-time.Hour), 9*time.Hour))
		schedule := nightly()
		schedule.CatchUp = "@hourly"
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Schedule: schedule,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(9 * 24 * time.Hour)
		c := meetingCounts(t, ar)
		if c.Meetings != 60 || c.WithTranscript != 60 || c.WithSummary != 60 || c.WithRecording != 60 || c.Gone != 0 {
			st, _ := s.Status(t.Context())
			t.Errorf("after nine days: %+v\n%+v\n%+v", c, st.Downloads, st.Failures)
		}
		t.Logf("%d calls", len(u.Wire.Calls()))
	})
}
