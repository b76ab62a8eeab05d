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
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "account_admin")
				var tries []string
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
				time.Sleep(26 * time.Hour) // from midnight on
				now := time.Now().UTC()
				first = time.Date(now.Year(), now.Month(), now.Day()+1, 0, 30, 0, 0, time.UTC)
				until = first.Add(c.broken)
				time.Sleep(time.Until(first.Add(5 * time.Minute)))
				st, err := s.Status(t.Context())
				if err != nil || len(st.Failures) != 1 || st.Failures[0].NextTry.Round(time.Minute) != first.Add(10*time.Minute) {
					t.Errorf("failures %+v, %v", st.Failures, err)
				}
				if c.person > 0 {
					time.Sleep(time.Until(first.Add(c.person)))
					if err := s.Sync(t.Context(), syncer.Request{}, nil); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(time.Until(first.Add(24*time.Hour - time.Minute)))
				if tries = slices.Compact(tries); !slices.Equal(tries, c.want) {
					t.Errorf("tried at %v, want %v", tries, c.want)
				}
			})
		})
	}
}
