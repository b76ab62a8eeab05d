package syncer_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
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

// testFailingCommits lets every commit fail from when a recording has the state. The log then
// names the recording, and the account once one is asked.
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
		var log bytes.Buffer
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Logger: zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.InfoLevel),
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		time.Sleep(10 * time.Minute)
		if n := tries.Load(); n == 0 || n > 2000 {
			t.Errorf("%d commits were tried in ten minutes of failures", n)
		}
		fails.Store(false)
		time.Sleep(30 * time.Minute)
		stop()
		if c := meetingCounts(t, ar); c.WithRecording != 4 {
			t.Errorf("afterwards: %+v", c)
		}
		line := regexp.MustCompile(`"recording_id":\d+,"account":"(.*?)".*"message":"download interrupted"`).FindSubmatch(log.Bytes())
		if line == nil || state != archive.DownloadWanted && string(line[1]) != "ada" {
			t.Errorf("the log names no account: %s", &log)
		}
	})
}

// A failure of this machine is no failure of a recording: however long it lasts, the
// recordings are tried again within minutes of its end, and status names it once.
func TestAFailingDiskIsNoFailureOfRecordings(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Generation: 5 * time.Second, Video: rig.File(5000)}, rig.Meetings(4, rig.Today().Add(-time.Hour), 100*time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		failing := func(pragma string) {
			if _, err := ar.Inbox().DB().W.Exec(pragma); err != nil {
				t.Fatal(err)
			}
		}
		failing(`PRAGMA query_only = 1`) // no callback can be announced
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, PublicURL: public,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(3 * time.Hour)
		st, err := s.Status(t.Context())
		if problems := strings.Join(st.Problems, "\n"); err != nil || len(st.Failures) > 0 || strings.Count(problems, "downloads: ") != 1 || !strings.Contains(problems, "disk is full or failing") {
			t.Errorf("status: %+v, %q, %v", st.Failures, problems, err)
		}
		failing(`PRAGMA query_only = 0`)
		time.Sleep(20 * time.Minute)
		if c := meetingCounts(t, ar); c.WithRecording != 4 {
			t.Errorf("afterwards: %+v", c)
		}
		if st, err := s.Status(t.Context()); err != nil || len(st.Failures)+len(st.Problems) > 0 {
			t.Errorf("status afterwards: %+v, %q, %v", st.Failures, st.Problems, err)
		}
	})
}

// The disk fails for ten minutes just after a delivered meeting was stored, before its recording is wanted: the
// recording is wanted once the disk is well, and not by the next start.
func TestARecordingIsWantedAfterAFailureOfTheDisk(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, rig.Meetings(1, newest, time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		var isWell atomic.Bool
		onCommit(t, ar.DB(), func() int {
			if _, err := ar.Row(t.Context(), 90); isWell.Load() || err != nil {
				return 0
			}
			return 1
		})
		raw := rig.Meeting(90, time.Now())
		addMeeting(t, u, raw)
		if _, err := ar.Inbox().Put(t.Context(), inbox.Delivery{Account: "ada", WebhookID: "msg_1", ReceivedAt: time.Now(), SentAt: time.Now(), Body: raw, Kind: inbox.KindWebhook}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if _, err := ar.DownloadOf(t.Context(), 90); !errors.Is(err, archive.ErrNotFound) {
			t.Fatalf("the recording is wanted before the disk is well: %v", err)
		}
		isWell.Store(true)
		time.Sleep(time.Hour)
		if d := queued(t, ar, 90); d.State != archive.DownloadDone {
			t.Errorf("an hour later: %+v", d)
		}
	})
}
