package syncer_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

// Meeting 90 is bob's, and ada, to whom it is shared, is asked for its transcript first. Whatever she is
// answered and happens to her, bob reads it.
func TestContentIsReadByWhoeverSeesTheMeeting(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int  // of the answers to ada's calls for the transcript
		later  bool // the transcript exists a day after the first look
	}{
		{"forbidden", http.StatusForbidden, false},
		{"not found", http.StatusNotFound, false},
		{"failing", http.StatusBadRequest, false},
		{"not shown any more", 0, true},
		{"revoked", 0, true},
		{"removed", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				newest := rig.Today().Add(-30 * day)
				whole := meetingOfBob(90, newest)
				raw := bytes.Clone(whole)
				if c.later {
					raw = withoutTranscripts(t, raw)
				}
				u := rig.NewUpstream(t, service.Options{}, append(rig.Meetings(3, newest, time.Hour), raw...))
				share(t, u, fmt.Sprintf(`{"recording_id": 90, "user": %q}`, rig.Person))
				u.Wire.Handler = lackTranscripts(u.Wire.Handler)
				var isRevoked atomic.Bool
				refuse(u, http.StatusUnauthorized, func(r *http.Request) bool { return isRevoked.Load() && isOf(u, r) })
				if c.status != 0 {
					refuse(u, c.status, func(r *http.Request) bool {
						return isOf(u, r) && strings.HasSuffix(r.URL.Path, "/recordings/90/transcript")
					})
				}
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !isOf(u, r) {
						time.Sleep(2 * time.Second) // ada's lists come first
					}
					inner.ServeHTTP(w, r)
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				ada, others := syncer.Account{Name: "ada", Client: u.Client(t, ar)}, []syncer.Account{{Name: "bob", Client: clientOf(t, u, bob)}}
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: walkSchedule(), Accounts: append(others, ada)})
				defer stop()
				time.Sleep(4 * time.Hour)
				if c.later {
					if m := meetingCounts(t, ar); m.Meetings != 4 || m.WithTranscript != 3 {
						t.Fatalf("at first %+v", m)
					}
					switch c.name {
					case "not shown any more":
						share(t, u)
					case "revoked":
						isRevoked.Store(true)
					default:
						if err := s.SetAccounts(others); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(day)
					addMeeting(t, u, whole)
					time.Sleep(2 * day)
				}
				if m := meetingCounts(t, ar); m.WithTranscript != 4 {
					row, err := ar.Row(t.Context(), 90)
					t.Errorf("at the end %+v, meeting 90 %+v, %v, asked %d times", m, row, err,
						u.Wire.Count(func(c rig.Call) bool { return strings.HasSuffix(c.Path, "/recordings/90/transcript") }))
				}
				if open, err := ar.Failures(t.Context(), true); err != nil || len(open) > 0 && c.name != "revoked" {
					t.Errorf("open failures %+v, %v", open, err)
				}
			})
		})
	}
}
