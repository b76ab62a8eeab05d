package syncer_test

import (
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

// While nothing can be committed, recordings are tried again now and then, and not
// without a pause.
func TestRecordingsPauseWhileCommitsFail(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, state := range []archive.DownloadState{archive.DownloadWanted, archive.DownloadRequested, archive.DownloadReady} {
		t.Run(string(state), func(t *testing.T) { testFailingCommits(t, state) })
	}
}

// testFailingCommits lets every commit fail from when a recording has the state.
func testFailingCommits(t *testing.T, state archive.DownloadState) {
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Generation: 5 * time.Second, Video: rig.File(5000)}, rig.Meetings(4, rig.Today().Add(-time.Hour), 100*time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		var fails atomic.Bool
		var tries atomic.Int64
		onCommit(t, ar.DB(), func() int {
			if !fails.Load() {
				if n, err := ar.DownloadCounts(t.Context()); err == nil && n[state] > 0 && tries.Load() == 0 {
					fails.Store(true)
				}
				return 0
			}
			if tries.Add(1) > 20_000 {
				fails.Store(false) // time does not go on
			}
			return 1
		})
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(10 * time.Minute)
		if n := tries.Load(); n == 0 || n > 2000 {
			t.Errorf("%d commits were tried in ten minutes of failures", n)
		}
		fails.Store(false)
		time.Sleep(30 * time.Minute)
		if c := meetingCounts(t, ar); c.WithRecording != 4 {
			t.Errorf("afterwards: %+v", c)
		}
	})
}
