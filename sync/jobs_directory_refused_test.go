package syncer_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// refuseFrom has the service answer 403 to everything from a call on whose path ends so, once
// armed is set and until it is not.
func refuseFrom(u *rig.Upstream, from string) (armed *atomic.Bool) {
	armed = new(atomic.Bool)
	var begun atomic.Bool
	inner := u.Wire.Handler
	u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun.Store(armed.Load() && (begun.Load() || strings.HasSuffix(r.URL.Path, from)))
		if begun.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
	return armed
}

// A service that refuses the account, from whichever list on, refuses no list: nobody loses a
// right, and once it accepts the account again the lists that were due are read.
func TestARefusedAccountIsRefusedNoList(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, from := range []string{"/meeting_types", "/teams", "/team_members", "/users"} {
		t.Run(strings.TrimPrefix(from, "/"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "account_admin")
				armed := refuseFrom(u, from)
				s, stop := running(t, o)
				defer stop()
				has := func(when string) {
					t.Helper()
					members, err := o.Archive.Memberships(t.Context())
					if err != nil || len(members["bob@example.com"]) != 2 {
						t.Errorf("%s: members %+v, %v", when, members, err)
					}
					users, err := o.Archive.Users(t.Context())
					if err != nil || len(users) != 2 {
						t.Errorf("%s: users %+v, %v", when, users, err)
					}
				}
				time.Sleep(24 * time.Hour)
				has("at first")
				armed.Store(true)
				time.Sleep(13 * time.Hour)
				has("while the account is refused")
				if s.Suspended("ada") == "" {
					t.Error("the account is not suspended")
				}
				armed.Store(false)
				before := u.Wire.Count(path("/users"))
				time.Sleep(2 * time.Hour) // the next night is hours away
				if n := u.Wire.Count(path("/users")); n == before || s.Suspended("ada") != "" {
					t.Errorf("once it is accepted /users was asked for %d times; suspended: %q", n-before, s.Suspended("ada"))
				}
				has("once it is accepted")
			})
		})
	}
}

// A list that was refused is asked for again once an account is accepted again, and when a
// person asks for it.
func TestARefusedListIsAskedForAgainForAReason(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, reason := range map[string]func(t *testing.T, s *syncer.Syncer, armed *atomic.Bool){
		"the account is accepted again": func(_ *testing.T, _ *syncer.Syncer, armed *atomic.Bool) {
			armed.Store(true)
			time.Sleep(24 * time.Hour)
			armed.Store(false)
			time.Sleep(24 * time.Hour)
		},
		"a person asks": func(t *testing.T, s *syncer.Syncer, _ *atomic.Bool) {
			if err := s.RunJob(t.Context(), "ada", syncer.JobDirectory); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "none")
				armed := refuseFrom(u, "/meeting_types")
				s, stop := running(t, o)
				defer stop()
				time.Sleep(24 * time.Hour)
				organise(t, u, "account_admin")
				if users, err := o.Archive.Users(t.Context()); err != nil || len(users) != 0 || u.Wire.Count(path("/users")) != 1 {
					t.Errorf("at first: users %+v, %v", users, err)
				}
				reason(t, s, armed)
				if users, err := o.Archive.Users(t.Context()); err != nil || len(users) != 2 {
					t.Errorf("users %+v, %v", users, err)
				}
			})
		})
	}
}

// A service that lists everybody for every team makes nobody a member, whether there are other
// teams to compare with, and whether somebody joins between two reads.
func TestMembersAreKeptWhereTheServiceFiltersThem(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const ada, bob = `{"name":"Ada","email":"ada@example.com"}`, `,{"name":"Bob","email":"bob@example.com"}`
	for name, c := range map[string]struct {
		teams string // the service's list, "" for Research and Sales
		joins bool   // Bob is listed by every second read
	}{
		"one team":     {teams: `{"limit":10,"next_cursor":null,"items":[{"name":"Research"}]}`},
		"Bob joins":    {joins: true},
		"nobody joins": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "account_admin")
				var reads atomic.Int32
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch {
					case strings.HasSuffix(r.URL.Path, "/teams") && c.teams != "":
						fmt.Fprint(w, c.teams)
					case !strings.HasSuffix(r.URL.Path, "/team_members"):
						inner.ServeHTTP(w, r)
					case reads.Add(1)%2 == 1 && c.joins:
						fmt.Fprintf(w, `{"limit":10,"next_cursor":null,"items":[%s]}`, ada)
					default:
						fmt.Fprintf(w, `{"limit":10,"next_cursor":null,"items":[%s]}`, ada+bob)
					}
				})
				_, stop := running(t, o)
				defer stop()
				time.Sleep(24 * time.Hour)
				if members, err := o.Archive.Memberships(t.Context()); err != nil || len(members) != 0 || reads.Load() == 0 {
					t.Errorf("members %+v, %v after %d reads", members, err, reads.Load())
				}
			})
		})
	}
}
