package syncer_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

func nightly() syncer.Schedule {
	return syncer.Schedule{CatchUp: "*/5 * * * *", Backfill: "0 1 * * *", Walk: "0 2 * * *", Refresh: "0 3 * * *", Directory: "30 0 * * *"}
}

// running runs a Syncer in the bubble until stop is called.
func running(t *testing.T, o syncer.Options) (s *syncer.Syncer, stop func()) {
	t.Helper()
	if o.Schedule.Backfill == "" {
		o.Schedule.Backfill = "0 1 31 12 *" // begun at start
	}
	return runningAs(t, o)
}

// runningAs is running with exactly these options.
func runningAs(t *testing.T, o syncer.Options) (s *syncer.Syncer, stop func()) {
	t.Helper()
	if o.Logger.GetLevel() == zerolog.TraceLevel {
		o.Logger = zerolog.Nop()
	}
	s, err := syncer.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func meetingCounts(t *testing.T, ar *archive.Archive) archive.Counts {
	t.Helper()
	c, err := ar.Counts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A job without an expression is never made, at start neither.
func TestAnEmptyScheduleMeansNever(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(4, rig.Today().Add(-time.Hour), 100*time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := runningAs(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{CatchUp: "*/5 * * * *", Refresh: "0 3 * * *"},
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(25 * time.Hour)
		if c := meetingCounts(t, ar); c.Meetings != 0 {
			t.Errorf("read without being asked to: %+v", c)
		}
		if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		if c := meetingCounts(t, ar); c.WithTranscript != 4 {
			t.Errorf("after a sync: %+v", c)
		}
	})
}

func TestDaemonFillsAndStaysQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)},
			rig.Meetings(24, now.Add(-time.Hour), 100*time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Schedule: nightly(),
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(5 * time.Second)
		if c := meetingCounts(t, ar); c.Meetings != 24 || c.WithTranscript != 24 {
			t.Fatalf("after five seconds: %+v", c)
		}
		time.Sleep(30 * time.Minute)
		if c := meetingCounts(t, ar); c.WithRecording != 24 {
			st, _ := s.Status(t.Context())
			t.Fatalf("after half an hour: %+v, %+v", c, st.Downloads)
		}
		if n := u.Wire.Count(hasStatus(http.StatusTooManyRequests)); n != 0 {
			t.Errorf("%d answers 429", n)
		}
		if n := u.Wire.Count(func(c rig.Call) bool { return c.Method == http.MethodPost }); n != 24 {
			t.Errorf("%d download requests for 24 recordings", n)
		}
		before := len(u.Wire.Calls())
		time.Sleep(time.Hour)
		for _, c := range u.Wire.Calls()[before:] {
			if c.Heavy || c.Path != "/meetings" {
				t.Errorf("a quiet hour calls %+v", c)
			}
		}
		st, err := s.Status(t.Context())
		if err != nil || len(st.Accounts) != 1 || !st.Accounts[0].Backfilled || st.Accounts[0].LastSuccess[syncer.JobCatchUp].IsZero() {
			t.Errorf("status: %+v, %v", st, err)
		}
		coverage, err := ar.Coverage(t.Context())
		if d := cmp.Diff(archive.Coverage{Meetings: 24, WithTranscript: 24, WithSummary: 24, WithRecording: 24}, coverage[st.Accounts[0].Name]); d != "" || err != nil {
			t.Error(d, err)
		}
		time.Sleep(24 * time.Hour)
		if c := meetingCounts(t, ar); c.Gone != 0 || c.Meetings != 24 {
			t.Errorf("after a night: %+v", c)
		}
	})
}

func hasStatus(status int) func(rig.Call) bool {
	return func(c rig.Call) bool { return c.Status == status }
}

func TestNewMeetingIsCaughtUpWithItsContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{Hold: 3}, rig.Meetings(13, now.Add(-time.Hour), 10*time.Minute))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, Schedule: nightly(),
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Minute)
		if c := meetingCounts(t, ar); c.Meetings != 10 {
			t.Fatalf("at first: %+v", c)
		}
		for range 3 {
			if _, ok, err := u.Service.Finish(t.Context()); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		time.Sleep(6 * time.Minute)
		if c := meetingCounts(t, ar); c.Meetings != 13 || c.WithTranscript != 13 || c.WithSummary != 13 {
			t.Errorf("after a catch-up: %+v", c)
		}
	})
}

func TestARefusedAccountIsSuspendedAndOthersGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(5, now.Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		wrong, err := api.NewClient(api.ClientOptions{BaseURL: rig.BaseURL, HTTP: u.HTTP(), Credential: api.APIKey("mbk_wrong")})
		if err != nil {
			t.Fatal(err)
		}
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{
			{Name: "ada", Client: u.Client(t, ar)}, {Name: "bob", Client: wrong}}})
		defer stop()
		time.Sleep(10 * time.Hour)
		if c := meetingCounts(t, ar); c.WithTranscript != 5 {
			t.Errorf("ada: %+v", c)
		}
		st, err := s.Status(t.Context())
		if err != nil || st.Accounts[0].Suspended != "" || st.Accounts[1].Suspended == "" || st.Accounts[1].SuspendedSince.IsZero() {
			t.Errorf("status: %+v, %v", st.Accounts, err)
		}
		failed := st.Accounts[1].Failures
		if st.Accounts[1].OpenFailures != len(failed) || len(failed) == 0 || failed[0].Reason == "" || !failed[0].NextTry.After(failed[0].Last) {
			t.Errorf("failures: %+v", failed)
		}
		if n := u.Wire.Count(hasStatus(http.StatusUnauthorized)); n == 0 || n > 25 {
			t.Errorf("the refused account was tried %d times in ten hours", n)
		}
	})
}

func TestDownloadsDoNotCrowdOutTheBackfill(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := rig.Today()
		u := rig.NewUpstream(t, service.Options{Generation: 5 * time.Second, Video: rig.File(5000)},
			rig.Meetings(600, now.Add(-time.Hour), 3*time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(135 * time.Second) // 60 heavy pages at 30 a minute, and some
		c := meetingCounts(t, ar)
		if c.WithTranscript != 600 {
			t.Errorf("after two minutes %d of 600 meetings are there", c.WithTranscript)
		}
		if c.WithRecording < 10 {
			t.Errorf("after two minutes %d recordings are there", c.WithRecording)
		}
	})
}
