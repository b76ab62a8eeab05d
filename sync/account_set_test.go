package syncer_test

import (
	"errors"
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

// TestAccountsComeAndGoWhileItRuns adds an account to a running sync, which brings it up
// to date and reads it by the schedule, and takes it away, which ends its calls.
func TestAccountsComeAndGoWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newest := rig.Today().Add(-time.Hour)
		u := rig.NewUpstream(t, service.Options{}, append(rig.Meetings(12, newest, time.Hour), meetingOfBob(90, newest.Add(-90*time.Minute))...))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		ada := syncer.Account{Name: "ada", Client: u.Client(t, ar)}
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: nightly(), Accounts: []syncer.Account{ada}})
		defer stop()
		time.Sleep(time.Minute)
		before := meetingCounts(t, ar).Meetings
		bobsCredential := clientOf(t, u, bob)
		set := func(accounts ...syncer.Account) {
			t.Helper()
			if err := s.SetAccounts(accounts); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			st, err := s.Status(t.Context())
			if err != nil || len(st.Accounts) != len(accounts) {
				t.Fatalf("status has %d accounts, %v; want %d", len(st.Accounts), err, len(accounts))
			}
			for _, a := range st.Accounts {
				if isNew := time.Since(a.UsableSince) == time.Minute; isNew != (a.Name == "bob") {
					t.Errorf("%s could be read since %v", a.Name, a.UsableSince)
				}
			}
		}
		set(ada, syncer.Account{Name: "bob", Client: bobsCredential})
		during := meetingCounts(t, ar).Meetings
		if during <= before {
			t.Errorf("%d meetings with bob's account, %d without", during, before)
		}
		set(ada)
		if err := s.Sync(t.Context(), syncer.Request{Account: "bob"}, nil); err == nil {
			t.Error("an account that left is still read")
		}
		used := bobsCredential.Budget().Snapshot()
		time.Sleep(25 * time.Hour)
		for i, class := range bobsCredential.Budget().Snapshot() {
			if class.Used > used[i].Used {
				t.Errorf("an account that left makes calls: %+v", class)
			}
		}
		set(ada, syncer.Account{Name: "bob", Client: clientOf(t, u, bob)})
		if last := lastOf(t, s, "bob", syncer.JobCatchUp); time.Since(last) > 6*time.Minute {
			t.Errorf("an account that came back was read last at %v", last)
		}
		if err := s.SetAccounts([]syncer.Account{ada, ada}); err == nil || errors.Unwrap(err) == nil {
			t.Errorf("one account twice: %v", err)
		}
	})
}

// lastOf returns when a job of an account last succeeded.
func lastOf(t *testing.T, s *syncer.Syncer, account, job string) time.Time {
	t.Helper()
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range st.Accounts {
		if a.Name == account {
			return a.LastSuccess[job]
		}
	}
	t.Fatalf("there is no account %s", account)
	return time.Time{}
}

// TestTheScheduleChangesWhileItRuns gives a running sync another time for a job that
// had none, and then none again. A schedule with a mistake changes nothing.
func TestTheScheduleChangesWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := rig.NewUpstream(t, service.Options{}, rig.Meetings(2, rig.Today().Add(-time.Hour), time.Hour))
		ar := rig.NewArchive(t, archivetest.Dir(t))
		s, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Backfill: "0 1 * * *"}, Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
		defer stop()
		time.Sleep(time.Hour)
		set := func(next syncer.Schedule) {
			t.Helper()
			if err := s.SetSchedule(next); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		set(syncer.Schedule{Backfill: "0 1 * * *", CatchUp: "*/5 * * * *"})
		first := lastOf(t, s, "ada", syncer.JobCatchUp)
		if time.Since(first) > 6*time.Minute {
			t.Errorf("the job ran last at %v", first)
		}
		if err := s.SetSchedule(syncer.Schedule{CatchUp: "every day"}); err == nil {
			t.Error("a mistake is taken")
		}
		set(syncer.Schedule{})
		last := lastOf(t, s, "ada", syncer.JobCatchUp)
		time.Sleep(2 * time.Hour)
		if again := lastOf(t, s, "ada", syncer.JobCatchUp); !again.Equal(last) {
			t.Errorf("a job without a time ran at %v", again)
		}
	})
}

// A key of another holder is read at once, the lists too that the service refused the one
// before: a walk that was made, or begun, with the key before shows the holder nothing.
func TestAnotherHolderIsBroughtUpToDateAtOnce(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, cut := range []string{"nothing", "walk", "backfill"} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const meetings = 35
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(meetings, rig.Today().Add(-time.Hour), time.Hour))
				organise(t, u, "none")
				var isDown atomic.Bool
				u.Wire.Fail = func(_ int, r *http.Request, _ bool) error {
					if isDown.Load() && strings.HasSuffix(r.URL.Path, "/meetings") && r.URL.Query().Get("cursor") != "" {
						return errors.New("the line is down")
					}
					return nil
				}
				ar := rig.NewArchive(t, archivetest.Dir(t))
				hold := func(credential string) {
					t.Helper()
					if err := ar.SetAccounts(t.Context(), []archive.AccountSetting{{Name: "ada", Email: rig.Person, Credential: credential, Queries: []string{""}}}); err != nil {
						t.Fatal(err)
					}
				}
				shown := func() (n int) {
					t.Helper()
					for id := int64(1); id <= meetings; id++ {
						listed, err := ar.ListedBy(t.Context(), id)
						if err != nil {
							t.Fatal(err)
						}
						n += len(listed)
					}
					return n
				}
				hold("the first")
				isDown.Store(cut == "backfill")
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Walk: "0 2 * * *", Directory: "30 0 * * *"},
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(12 * time.Hour)
				isDown.Store(cut != "nothing")
				time.Sleep(12 * time.Hour)
				if n := shown(); n != meetings && cut != "backfill" || n == 0 {
					t.Fatalf("%d meetings were shown at first", n)
				}
				organise(t, u, "account_admin")
				hold("the second")
				if err := s.SetAccounts([]syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}); err != nil {
					t.Fatal(err)
				}
				isDown.Store(false)
				time.Sleep(time.Hour)
				if n := shown(); n != meetings {
					t.Errorf("%d meetings are shown to the next holder", n)
				}
				if users, err := ar.Users(t.Context()); err != nil || len(users) != 2 {
					t.Errorf("users %+v, %v", users, err)
				}
			})
		})
	}
}
