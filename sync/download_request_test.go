package syncer_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// recordings states the recordings of meetings, and who sees them.
func recordings(t *testing.T, u *rig.Upstream, shares, recordings string) {
	t.Helper()
	file := fmt.Sprintf(`{"users": [{"email": %q}, {"email": %q}], "teams": [], "meeting_types": [], "shares": [%s], "recordings": [%s]}`,
		rig.Person, bob, shares, recordings)
	if err := u.Service.LoadDirectory(context.Background(), strings.NewReader(file), "recordings"); err != nil {
		t.Fatal(err)
	}
}

func queued(t *testing.T, ar *archive.Archive, id int64) archive.Download {
	t.Helper()
	d, err := ar.DownloadOf(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// requested are the times at which a recording's download was asked for.
func requested(u *rig.Upstream, id int64) (at []time.Time) {
	for _, c := range u.Wire.Calls() {
		if c.Method == http.MethodPost && c.Path == fmt.Sprintf("/recordings/%d/download", id) {
			at = append(at, c.At)
		}
	}
	return at
}

// Both reasons of a failed generation are kept, and it is tried again with
// patience.
func TestAFailedGenerationIsKeptAndTriedWithPatience(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, reason := range []string{"generation_failed", "generation_timeout"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { failedGeneration(t, reason) })
		})
	}
}

func failedGeneration(t *testing.T, reason string) {
	u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(5000)}, rig.Meetings(2, rig.Today().Add(-time.Hour), time.Hour))
	recordings(t, u, "", fmt.Sprintf(`{"recording_id": 1, "failure_reason": %q}`, reason))
	ar := rig.NewArchive(t, archivetest.Dir(t))
	s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
	defer stop()
	time.Sleep(14 * 24 * time.Hour)
	at := requested(u, 1)
	want := []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 72 * time.Hour, 168 * time.Hour}
	for i := 1; i < len(at); i++ {
		if wait := at[i].Sub(at[i-1]); i > len(want) || wait < want[i-1] || wait > want[i-1]+2*time.Minute {
			t.Errorf("try %d came %v after the one before", i+1, wait)
		}
	}
	if len(at) != 7 {
		t.Errorf("%d tries in two weeks", len(at))
	}
	if d := queued(t, ar, 1); d.State != archive.DownloadWanted || d.Failures != 7 || !strings.Contains(d.Reason, reason) {
		t.Errorf("queue: %+v", d)
	}
	st, err := s.Status(t.Context())
	if err != nil || len(st.Failures) != 1 || !strings.Contains(st.Failures[0].Reason, reason) || st.Failures[0].RecordingID != 1 || !st.Failures[0].NextTry.After(time.Now()) {
		t.Errorf("failures: %+v, %v", st.Failures, err)
	}
	recordings(t, u, "", "")
	time.Sleep(8 * 24 * time.Hour)
	if c := meetingCounts(t, ar); c.WithRecording != 2 {
		t.Errorf("once it can be generated: %+v", c)
	}
	if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 0 {
		t.Errorf("failures: %+v, %v", st.Failures, err)
	}
}

// A request that fails names the account that was asked, in the log and in the
// ledger, and the entry is resolved when another account's download succeeds.
func TestAFailedRequestNamesItsAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if r.Method == http.MethodPost {
				return rig.ErrCut
			}
			return nil
		}
		var log bytes.Buffer
		run := func(names ...string) []archive.Failure {
			o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Logger: zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.InfoLevel)}
			for _, name := range names {
				o.Accounts = append(o.Accounts, syncer.Account{Name: name, Client: u.Client(t, ar)})
			}
			_, stop := running(t, o)
			time.Sleep(2 * time.Hour)
			stop()
			failures, err := ar.Failures(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			return failures
		}
		failures := run("ada", "bob")
		asked := queued(t, ar, 1).Account
		if !slices.ContainsFunc(failures, func(f archive.Failure) bool { return f.Account == asked }) {
			t.Errorf("%q was asked last, and the open failures are %+v", asked, failures)
		}
		for _, f := range failures { // of the other account too, if it listed the meeting first
			if !strings.Contains(log.String(), fmt.Sprintf(`"recording_id":1,"account":%q,"failures":`, f.Account)) {
				t.Errorf("the log does not name %q:\n%s", f.Account, log.String())
			}
		}
		other := map[string]string{"ada": "bob", "bob": "ada"}[asked]
		u.Wire.Fail = nil
		time.Sleep(24 * time.Hour)
		if failures := run(other); len(failures) != 0 || meetingCounts(t, ar).WithRecording != 1 {
			t.Errorf("once %s has it: %+v", other, failures)
		}
	})
}

// A failure of a recording ends with the account that failed: its line has no next try that
// never comes. An account that comes back, or another one, is asked at once.
func TestAFailureEndsWithItsAccount(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Video: rig.File(500)}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
			if r.Method == http.MethodPost {
				return rig.ErrCut
			}
			return nil
		}
		ada := syncer.Account{Name: "ada", Client: u.Client(t, ar)}
		configure := func(s *syncer.Syncer, accounts ...syncer.Account) {
			var settings []archive.AccountSetting
			for _, a := range accounts {
				settings = append(settings, archive.AccountSetting{Name: a.Name, Queries: []string{""}})
			}
			if err := ar.SetAccounts(t.Context(), settings); err != nil {
				t.Fatal(err)
			}
			if s != nil {
				if err := s.SetAccounts(accounts); err != nil {
					t.Fatal(err)
				}
			}
		}
		configure(nil, ada)
		s, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{ada}})
		defer stop()
		failures := func() []syncer.FailureStatus {
			st, err := s.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return st.Failures
		}
		time.Sleep(2 * time.Hour)
		if open := failures(); len(open) != 1 || open[0].Account != "ada" {
			t.Fatalf("nothing can be asked for: %+v", open)
		}
		configure(s)
		time.Sleep(12 * time.Hour)
		if open := failures(); len(open) != 0 {
			t.Errorf("nobody tries again: %+v", open)
		}
		u.Wire.Fail = nil
		configure(s, ada)
		time.Sleep(time.Hour)
		if d := queued(t, ar, 1); d.State != archive.DownloadDone {
			t.Errorf("an hour after the account came back: %+v", d)
		}
	})
}

// 422 for a meeting that is older than a week, and 403, are remembered: such a recording is
// not asked for again, by a restart as little as by time.
func TestRefusedRecordingsAreNotAskedForAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{Video: rig.File(5000)}, append(rig.Meetings(2, newest, time.Hour), meetingOfBob(90, newest.Add(-30*time.Minute))...))
		recordings(t, u, fmt.Sprintf(`{"recording_id": 90, "user": %q, "level": "limited"}`, rig.Person), `{"recording_id": 1, "media": "none"}`)
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Schedule: walkSchedule(),
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		for range 3 {
			_, stop := running(t, o)
			time.Sleep(10 * 24 * time.Hour)
			stop()
		}
		if d, at := queued(t, ar, 1), requested(u, 1); d.State != archive.DownloadNone || len(at) != 10 || at[9].Sub(newest) > 8*24*time.Hour+time.Minute {
			t.Errorf("without media: %+v, asked for at %v", d, at)
		}
		if d := queued(t, ar, 90); d.State != archive.DownloadRefused || !slices.Equal(d.RefusedBy, []string{"ada"}) || len(requested(u, 90)) != 1 {
			t.Errorf("with limited access: %+v, asked for %d times", d, len(requested(u, 90)))
		}
		if c := meetingCounts(t, ar); c.WithRecording != 1 {
			t.Errorf("the third one: %+v", c)
		}
		// Another account, which may have it, comes to see it.
		o.Accounts = append(o.Accounts, syncer.Account{Name: "bob", Client: clientOf(t, u, bob)})
		_, stop := running(t, o)
		defer stop()
		time.Sleep(time.Hour)
		if d := queued(t, ar, 90); d.State != archive.DownloadDone || d.Account != "bob" || len(requested(u, 90)) != 2 {
			t.Errorf("with another account: %+v, asked for %d times", d, len(requested(u, 90)))
		}
		if err := ar.PutAccountPerson(t.Context(), "ada", rig.Person); err != nil {
			t.Fatal(err)
		}
		if visible, allowed, err := ar.MayPlay(t.Context(), archive.ViewerWith(rig.Person), 90); !visible || allowed || err != nil {
			t.Errorf("whom the service forbids the recording sees the meeting: %t, plays it: %t, %v", visible, allowed, err)
		}
	})
}

// Who was refused a recording because of a limited share becomes an admin, whom the service gives it.
func TestARefusalEndsWithTheDirectory(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := bytes.Replace(meetingOfBob(90, rig.Today().Add(-20*24*time.Hour)), []byte("no_teams"), []byte("single_team"), 1)
		u := rig.NewUpstream(t, service.Options{Video: rig.File(5000)}, append(rig.Meetings(1, rig.Today(), time.Hour), shared...))
		organise := func(settings, view string) {
			t.Helper()
			file := fmt.Sprintf(`{"users": [{"email": %q, "permissions": {"settings_access": {"level": %q, "teams": []}, "view_access": {"level": %q, "teams": []}}},
				{"email": %q, "teams": ["Sales"]}], "teams": [{"name": "Sales"}], "meeting_types": [], "shares": [{"recording_id": 90, "user": %q, "level": "limited"}]}`,
				rig.Person, settings, view, bob, rig.Person)
			if err := u.Service.LoadDirectory(context.Background(), strings.NewReader(file), "organisation"); err != nil {
				t.Fatal(err)
			}
		}
		organise("none", "own_meetings")
		ar := rig.NewArchive(t, archivetest.Dir(t))
		_, stop := running(t, syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true,
			Schedule: syncer.Schedule{Walk: "0 2 * * *", Directory: "30 0 * * *"}, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(48 * time.Hour)
		before := len(requested(u, 90))
		time.Sleep(7 * 24 * time.Hour)
		if d := queued(t, ar, 90); d.State != archive.DownloadRefused || len(requested(u, 90)) > before {
			t.Fatalf("with limited access: %+v, asked for %d times, and %d times on the first days", d, len(requested(u, 90)), before)
		}
		organise("account_admin", "all_teams")
		time.Sleep(9 * 24 * time.Hour) // a list that was refused is tried again after a week
		if d := queued(t, ar, 90); d.State != archive.DownloadDone {
			t.Errorf("an admin: %+v, asked for %d times", d, len(requested(u, 90)))
		}
	})
}

// A link that has lapsed while nothing ran is replaced by a fresh one.
func TestALapsedLinkIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bytes = 2_000_000
		u := rig.NewUpstream(t, service.Options{Generation: 35 * time.Second, Video: rig.File(bytes)}, rig.Meetings(1, rig.Today().Add(-time.Hour), time.Hour))
		u.Wire.Rate = 2000
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		_, stop := running(t, o)
		time.Sleep(5 * time.Minute)
		stop()
		before := queued(t, ar, 1)
		if before.State != archive.DownloadReady || before.Fetched == 0 {
			t.Fatalf("stopped in the middle: %+v", before)
		}
		time.Sleep(25 * time.Hour)
		start := time.Now()
		_, stop = running(t, o)
		defer stop()
		time.Sleep(time.Hour)
		d := queued(t, ar, 1)
		if d.State != archive.DownloadDone || d.Lapsed != 1 || d.Requests != 2 || d.DownloadID == before.DownloadID {
			t.Errorf("queue: %+v", d)
		}
		media, err := ar.MediaOf(t.Context(), 1)
		if err != nil || len(media) != 1 || media[0].Size != bytes {
			t.Errorf("recordings %+v, %v", media, err)
		}
		// It is the same file by its ETag: only the missing bytes are fetched.
		left := time.Duration(float64(bytes-before.Fetched) / 2000 * float64(time.Second))
		for _, c := range u.Wire.Calls() {
			if c.At.After(start.Add(left / 2)) {
				t.Errorf("%v after the start: %+v", c.At.Sub(start), c)
			}
		}
	})
}

// Below the disk's floor nothing is asked for, and the status says why.
func TestBelowTheDiskFloorNothingIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{Video: rig.File(5000)}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		o := syncer.Options{Archive: ar, MediaHTTP: u.HTTP(), DownloadMedia: true, MinFree: 1 << 62,
			Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
		s, stop := running(t, o)
		time.Sleep(24 * time.Hour)
		st, err := s.Status(t.Context())
		if err != nil || !strings.Contains(st.Downloads.Paused, "min_free_bytes") || u.Wire.Count(asked) != 0 {
			t.Errorf("%d downloads asked for; status %+v, %v", u.Wire.Count(asked), st.Downloads, err)
		}
		if c := meetingCounts(t, ar); c.WithTranscript != 3 {
			t.Errorf("the rest goes on: %+v", c)
		}
		if err := s.Sync(t.Context(), syncer.Request{Media: true}, nil); err == nil || !strings.Contains(err.Error(), "min_free_bytes") {
			t.Errorf("a command that waits for recordings is told %v", err)
		}
		stop()
		o.MinFree = 0
		_, stop = running(t, o)
		defer stop()
		time.Sleep(time.Hour)
		if c := meetingCounts(t, ar); c.WithRecording != 3 {
			t.Errorf("with room: %+v", c)
		}
	})
}
