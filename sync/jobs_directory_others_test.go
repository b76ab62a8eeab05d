package syncer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/api"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	syncer "minutebook/sync"
)

// kim was put into a team and taken out of it between two lists of ada, the second time after
// the service had begun to refuse bob, whose list alone shows it.
func TestALastListOfARefusedAccountEndsWithTheNextOneOfAnother(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const kim = "kim@example.com"
		u, o := newOrganisation(t, "account_admin")
		ar := o.Archive
		o.Accounts = append(o.Accounts, syncer.Account{Name: "bob", Client: clientOf(t, u, bob)})
		if err := errors.Join(ar.PutTeamMembers(t.Context(), "bob", "Research", []api.TeamMember{{Email: kim}}),
			ar.PutUsers(t.Context(), "bob", []api.User{{Email: kim, Status: api.StatusActive}}),
			u.Service.SetUserStatus(t.Context(), bob, api.StatusDeactivated)); err != nil {
			t.Fatal(err)
		}
		_, stop := running(t, o)
		defer stop()
		time.Sleep(48 * time.Hour)
		members, err := ar.Memberships(t.Context())
		if err != nil || len(members[kim]) != 0 || len(members["ada@example.com"]) != 1 {
			t.Errorf("members %+v, %v", members, err)
		}
		users, err := ar.Users(t.Context())
		if err != nil || len(users) != 2 {
			t.Errorf("users %+v, %v", users, err)
		}
	})
}

// bob is deactivated, or leaves a team, while one of two accounts reads the list that says so, and
// before the other does.
func TestAListThatTookLongIsNotTheNewest(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for list, change := range map[string]func(*rig.Upstream) error{
		"/users": func(u *rig.Upstream) error {
			return u.Service.SetUserStatus(context.Background(), bob, api.StatusDeactivated)
		},
		"/team_members": func(u *rig.Upstream) error {
			left := strings.Replace(fmt.Sprintf(organisation, "account_admin"), `["Research", "Sales"]`, `["Sales"]`, 1)
			return u.Service.LoadDirectory(context.Background(), strings.NewReader(left), "organisation")
		},
	} {
		t.Run(list[1:], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "account_admin")
				o.Accounts = append(o.Accounts, syncer.Account{Name: "boss", Client: u.Client(t, o.Archive)})
				var slow atomic.Bool
				intercept(u, func(r *http.Request, body []byte) []byte {
					if strings.HasSuffix(r.URL.Path, list) && slow.CompareAndSwap(true, false) {
						if err := change(u); err != nil {
							t.Error(err)
						}
						time.Sleep(10 * time.Second)
					}
					return body
				})
				_, stop := running(t, o)
				defer stop()
				time.Sleep(24 * time.Hour)
				slow.Store(true)
				time.Sleep(24 * time.Hour)
				user, err := o.Archive.User(t.Context(), bob)
				if isActive := list != "/users"; err != nil || (user.Status == api.StatusActive) != isActive {
					t.Errorf("bob is %+v, %v", user, err)
				}
				teams, err := o.Archive.Memberships(t.Context())
				if isThere := list == "/users"; err != nil || slices.Contains(teams[bob], "Research") != isThere {
					t.Errorf("bob's teams are %v, %v", teams[bob], err)
				}
			})
		})
	}
}

// An administrator who is none for a night is asked for the users again in the next one.
func TestAListThatIsRefusedForANightIsReadInTheNext(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		_, stop := running(t, o)
		defer stop()
		for _, night := range []struct {
			settings string
			want     int
		}{{"account_admin", 2}, {"none", 0}, {"account_admin", 2}} {
			organise(t, u, night.settings)
			time.Sleep(24 * time.Hour)
			if users, err := o.Archive.Users(t.Context()); err != nil || len(users) != night.want {
				t.Errorf("with settings access %s: users %+v, %v; want %d", night.settings, users, err, night.want)
			}
		}
	})
}

// Between two nights the service refuses an account for an hour: it is read again once, when the
// account is accepted, since others' lists may have taken the place of its own.
func TestAnAccountThatIsAcceptedAgainReadsItsDirectoryOnce(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, restarts := range map[string]bool{"while the program runs": false, "while it does not": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "account_admin")
				o.Schedule.CatchUp = "@hourly"
				o.Accounts[0].Client = clientOf(t, u, bob)
				_, stop := running(t, o)
				time.Sleep(28 * time.Hour) // far from midnight
				status := func(status string) {
					if err := u.Service.SetUserStatus(t.Context(), bob, status); err != nil {
						t.Fatal(err)
					}
				}
				status(api.StatusDeactivated)
				time.Sleep(70 * time.Minute)
				before := u.Wire.Count(path("/teams"))
				if restarts {
					stop()
				}
				status(api.StatusActive)
				if restarts {
					_, stop = running(t, o)
				}
				defer stop()
				time.Sleep(2 * time.Hour)
				if n := u.Wire.Count(path("/teams")); n != before+1 {
					t.Errorf("the teams were read %d times", n-before)
				}
			})
		})
	}
}

// The lists of users lack the settings_access of somebody who may view everything that is shared, and
// the later ones the status of a deactivated user.
func TestListsOfUsersMayLackMembers(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		if err := u.Service.SetUserStatus(context.Background(), "bob@example.com", api.StatusDeactivated); err != nil {
			t.Fatal(err)
		}
		var lacking atomic.Bool
		settings := regexp.MustCompile(`"settings_access":\{[^}]*\},?`)
		intercept(u, func(r *http.Request, body []byte) []byte {
			if strings.HasSuffix(r.URL.Path, "/users") {
				if lacking.Load() {
					body = bytes.ReplaceAll(body, []byte(`"status":"deactivated"`), []byte(`"status":null`))
				}
				body = bytes.ReplaceAll(body, []byte(`"level":"own_meetings"`), []byte(`"level":"all_teams"`))
				body = settings.ReplaceAll(body, nil)
			}
			return body
		})
		_, stop := running(t, o)
		defer stop()
		look := func(when string) {
			t.Helper()
			out, err := o.Archive.IsDeactivated(t.Context(), []string{"bob@example.com"})
			if !out || err != nil {
				t.Errorf("%s: bob is deactivated: %t, %v", when, out, err)
			}
			ada, err := o.Archive.User(t.Context(), "ada@example.com")
			if err != nil || ada.Permissions.Or(api.Permissions{}).ViewAccess.Level != api.ViewAllTeams {
				t.Errorf("%s: ada's permissions are %+v, %v", when, ada, err)
			}
		}
		time.Sleep(24 * time.Hour)
		look("at first")
		lacking.Store(true)
		time.Sleep(24 * time.Hour)
		look("without the status")
	})
}
