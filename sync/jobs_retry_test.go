package syncer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// The answers to a nightly job are rubbish for some time: it is tried again after waits that
// grow, until it succeeds or the next night comes, and status says when.
func TestAScheduledJobThatFailsIsTriedAgain(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, c := range map[string]struct {
		broken time.Duration // from the job's time on
		person time.Duration // when a person runs it
		want   []string
	}{
		"for half an hour":     {30 * time.Minute, 0, []string{"00:30", "00:40", "01:40"}},
		"for a night":          {20 * time.Hour, 0, []string{"00:30", "00:40", "01:40", "05:40", "09:40", "13:40", "17:40", "21:40"}},
		"until a person comes": {30 * time.Minute, 35 * time.Minute, []string{"00:30", "00:40", "01:05"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := triesOfDirectory(t, c.broken, func(t *testing.T, s *syncer.Syncer, _ syncer.Options) {
				st, err := s.Status(t.Context())
				if now := time.Now(); err != nil || len(st.Failures) != 1 || !st.Failures[0].NextTry.Round(time.Minute).Equal(now.Add(5*time.Minute)) {
					t.Errorf("failures %+v, %v", st.Failures, err)
				}
				if c.person > 0 {
					time.Sleep(c.person - 5*time.Minute)
					if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
						t.Error(err)
					}
				}
			})
			if !slices.Equal(tries, c.want) {
				t.Errorf("tried at %v, want %v", tries, c.want)
			}
		})
	}
}

// TestAReloadKeepsTheRetryOfAFailedJob loads the configuration again between a job's failure, at
// 00:30, and its next try. Where the schedule is another one, the job's next time may come first.
func TestAReloadKeepsTheRetryOfAFailedJob(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*syncer.Schedule)
		want   []string
	}{
		"the same schedule":       {func(*syncer.Schedule) {}, []string{"00:30", "00:40"}},
		"another job's time":      {func(n *syncer.Schedule) { n.Walk = "0 4 * * *" }, []string{"00:30", "00:40"}},
		"a time that has passed":  {func(n *syncer.Schedule) { n.Directory = "33 0 * * *" }, []string{"00:30", "00:40"}},
		"a time before the retry": {func(n *syncer.Schedule) { n.Directory = "38 0 * * *" }, []string{"00:30", "00:38"}},
		"no time":                 {func(n *syncer.Schedule) { n.Directory = "" }, []string{"00:30"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := triesOfDirectory(t, 4*time.Minute, func(t *testing.T, s *syncer.Syncer, o syncer.Options) {
				c.change(&o.Schedule)
				if err := s.SetAccounts(o.Accounts); err != nil {
					t.Fatal(err)
				}
				if err := s.SetSchedule(o.Schedule); err != nil {
					t.Fatal(err)
				}
				st, err := s.Status(t.Context())
				if err != nil || len(st.Failures) != 1 {
					t.Fatalf("failures %+v, %v", st.Failures, err)
				}
				next := "00:00" // never
				if len(c.want) > 1 {
					next = c.want[1]
				}
				if got := st.Failures[0].NextTry.UTC().Format("15:04"); got != next {
					t.Errorf("status says that the next try is at %s, want %s", got, next)
				}
			})
			if !slices.Equal(tries, c.want) {
				t.Errorf("tried at %v, want %v", tries, c.want)
			}
		})
	}
}

// triesOfDirectory returns when the directory is read that is due at 00:30, until a minute before
// the next night. The answers are rubbish for some time, and five minutes after its beginning
// then is called.
func triesOfDirectory(t *testing.T, broken time.Duration, then func(*testing.T, *syncer.Syncer, syncer.Options)) (tries []string) {
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		o.Schedule.Backfill = "0 1 31 12 *"
		var first, until time.Time
		intercept(u, func(r *http.Request, body []byte) []byte {
			now := time.Now().UTC()
			if !strings.HasSuffix(r.URL.Path, "/meeting_types") || first.IsZero() || now.Before(first) {
				return body
			}
			tries = append(tries, now.Format("15:04"))
			if now.Before(until) {
				return []byte("rubbish")
			}
			return body
		})
		s, stop := running(t, o)
		defer stop()
		time.Sleep(26 * time.Hour) // from noon on
		now := time.Now().UTC()
		first = time.Date(now.Year(), now.Month(), now.Day()+1, 0, 30, 0, 0, time.UTC)
		until = first.Add(broken)
		time.Sleep(time.Until(first.Add(5 * time.Minute)))
		then(t, s, o)
		time.Sleep(time.Until(first.Add(24*time.Hour - time.Minute)))
	})
	return slices.Compact(tries)
}
