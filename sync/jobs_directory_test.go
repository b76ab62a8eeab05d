package syncer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/api"
	"minutebook/archive/archivetest"
	"minutebook/bench/sync/rig"
	"minutebook/internal/testrun"
	"minutebook/service"
	syncer "minutebook/sync"
)

const organisation = `{
	"users": [
		{"email": "ada@example.com", "name": "Ada", "teams": ["Research"], "permissions": {"settings_access": {"level": %q, "teams": []}, "view_access": {"level": "own_meetings", "teams": []}}},
		{"email": "bob@example.com", "name": "Bob", "teams": ["Research", "Sales"]}],
	"teams": [{"name": "Research"}, {"name": "Sales"}],
	"meeting_types": [{"name": "Weekly", "status": "active"}, {"name": "Review", "status": "inactive"}]}`

func organise(t *testing.T, u *rig.Upstream, settings string) {
	t.Helper()
	if err := u.Service.LoadDirectory(context.Background(), strings.NewReader(fmt.Sprintf(organisation, settings)), "organisation"); err != nil {
		t.Fatal(err)
	}
}

// newOrganisation returns a service with three meetings and the organisation, and options
// that read its directory every night by an account with those rights to settings.
func newOrganisation(t *testing.T, settings string) (*rig.Upstream, syncer.Options) {
	t.Helper()
	u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
	organise(t, u, settings)
	ar := rig.NewArchive(t, archivetest.Dir(t))
	return u, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Directory: "30 0 * * *"},
		Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}}
}

func path(p string) func(rig.Call) bool { return func(c rig.Call) bool { return c.Path == p } }

func TestTheDirectoryIsReadNightly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, o := newOrganisation(t, "account_admin")
		ar := o.Archive
		_, stop := running(t, o)
		defer stop()
		time.Sleep(24 * time.Hour)
		types, err := ar.Types(t.Context())
		if err != nil || len(types) != 2 {
			t.Errorf("meeting types %+v, %v", types, err)
		}
		teams, err := ar.Teams(t.Context())
		if err != nil || len(teams) != 2 {
			t.Errorf("teams %+v, %v", teams, err)
		}
		members, err := ar.Memberships(t.Context())
		if err != nil || len(members["ada@example.com"]) != 1 || len(members["bob@example.com"]) != 2 {
			t.Errorf("members %+v, %v", members, err)
		}
		users, err := ar.Users(t.Context())
		if err != nil || len(users) != 2 {
			t.Errorf("users %+v, %v", users, err)
		}
	})
}

// Users are for administrators. A refusal is remembered for a week and is no
// failure; the other lists are read every night.
func TestARefusedListIsLeftAloneForAWeek(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "none")
		ar := o.Archive
		_, stop := running(t, o)
		time.Sleep(3 * 24 * time.Hour)
		stop()
		s, stop := running(t, o) // a restart does not forget it
		defer stop()
		time.Sleep(3*24*time.Hour + 13*time.Hour)
		if n := u.Wire.Count(path("/users")); n != 1 {
			t.Errorf("users were asked for %d times in six days", n)
		}
		if n := u.Wire.Count(path("/teams")); n < 6 {
			t.Errorf("teams were asked for %d times in six days", n)
		}
		if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 0 || st.Accounts[0].Suspended != "" || st.Accounts[0].LastSuccess[syncer.JobDirectory].IsZero() {
			t.Errorf("status %+v, %v", st, err)
		}
		organise(t, u, "account_admin")
		time.Sleep(48 * time.Hour)
		if n := u.Wire.Count(path("/users")); n < 2 {
			t.Error("users were not asked for after a week")
		}
		if users, err := ar.Users(t.Context()); err != nil || len(users) != 2 {
			t.Errorf("users %+v, %v", users, err)
		}
	})
}

// An account that may no longer read the users gives no rights by the list that
// it read before.
func TestAListThatIsRefusedEndsItsRights(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "account_admin")
		ar := o.Archive
		_, stop := running(t, o)
		defer stop()
		for _, night := range []struct {
			settings string
			want     int
		}{{"account_admin", 2}, {"none", 0}} {
			organise(t, u, night.settings)
			time.Sleep(24 * time.Hour)
			if users, err := ar.Users(t.Context()); err != nil || len(users) != night.want {
				t.Errorf("with settings access %s: users %+v, %v; want %d", night.settings, users, err, night.want)
			}
		}
	})
}

// A row that an account lists no longer ends in the lists of one that is not read; a row
// that it may not read any more, or that is not believed, does not.
func TestOnlyAListThatWasReadEndsWhatOthersShow(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const everyUser = `{"limit":10,"next_cursor":null,"items":[{"name":"Eve","email":"eve@example.com"}]}`
	for name, c := range map[string]struct {
		path, body string // how the second night is answered
		code, want int    // bob's teams as anna shows them
	}{
		"refused":        {"/teams", `{}`, http.StatusForbidden, 2},
		"not filtered":   {"/team_members", everyUser, http.StatusOK, 2},
		"empty, a lapse": {"/teams", `{}`, http.StatusOK, 2},
		"empty":          {"/teams", emptyList, http.StatusOK, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
				organise(t, u, "account_admin")
				var second atomic.Bool
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !second.Load() || !strings.HasSuffix(r.URL.Path, c.path) {
						inner.ServeHTTP(w, r)
						return
					}
					w.WriteHeader(c.code)
					fmt.Fprint(w, c.body)
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				_, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Directory: "30 0 * * *"},
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				time.Sleep(24 * time.Hour)
				for _, team := range []string{"Research", "Sales"} {
					if err := ar.PutTeamMembers(t.Context(), "anna", team, []api.TeamMember{{Email: "bob@example.com"}}); err != nil {
						t.Fatal(err)
					}
				}
				second.Store(true)
				time.Sleep(24 * time.Hour)
				if members, err := ar.Memberships(t.Context()); err != nil || len(members["bob@example.com"]) != c.want {
					t.Errorf("members %+v, %v; want bob in %d teams", members, err, c.want)
				}
				if left, err := ar.MembersOf(t.Context(), "ada", "Sales"); err != nil || name != "empty, a lapse" && len(left) != 0 {
					t.Errorf("ada still shows %+v, %v", left, err)
				}
			})
		})
	}
}

// Teams may have the same members. Only a service that lists them for any name is doubted.
func TestTeamsMayHaveTheSameMembers(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const everyUser = `{"limit":10,"next_cursor":null,"items":[{"name":"Ada","email":"ada@example.com"},{"name":"Bob","email":"bob@example.com"}]}`
	for name, c := range map[string]struct {
		unknown int    // how an unknown team is answered
		body    string // the members of an unknown team, "" for none
		want    int    // teams of bob
	}{
		"filtered":     {http.StatusOK, emptyList, 2},
		"not found":    {http.StatusNotFound, `{}`, 2},
		"not filtered": {http.StatusOK, everyUser, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u, o := newOrganisation(t, "account_admin")
				inner := u.Wire.Handler
				u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch team := r.URL.Query().Get("team"); {
					case !strings.HasSuffix(r.URL.Path, "/team_members"):
						inner.ServeHTTP(w, r)
					case team == "Research" || team == "Sales":
						fmt.Fprint(w, everyUser)
					default:
						w.WriteHeader(c.unknown)
						fmt.Fprint(w, c.body)
					}
				})
				_, stop := running(t, o)
				defer stop()
				time.Sleep(24 * time.Hour)
				if members, err := o.Archive.Memberships(t.Context()); err != nil || len(members["bob@example.com"]) != c.want {
					t.Errorf("members %+v, %v; want bob in %d teams", members, err, c.want)
				}
			})
		})
	}
}

// A team is renamed: at no time are its members of no team, also where their lists cannot be
// read.
func TestARenamedTeamKeepsItsMembers(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u, o := newOrganisation(t, "none") // nobody may read users
		ada := func() []string {
			members, err := o.Archive.Memberships(context.Background())
			if err != nil {
				t.Error(err)
			}
			return members["ada@example.com"]
		}
		var later, fails atomic.Bool
		inner := u.Wire.Handler
		u.Wire.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if later.Load() && len(ada()) != 1 {
				t.Errorf("before %s ada is of %v", r.URL, ada())
			}
			if fails.Load() && strings.HasSuffix(r.URL.Path, "/team_members") {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			inner.ServeHTTP(w, r)
		})
		_, stop := running(t, o)
		defer stop()
		time.Sleep(24 * time.Hour)
		later.Store(true)
		renamed := strings.ReplaceAll(fmt.Sprintf(organisation, "none"), "Research", "Science")
		if err := u.Service.LoadDirectory(t.Context(), strings.NewReader(renamed), "organisation"); err != nil {
			t.Fatal(err)
		}
		fails.Store(true)
		time.Sleep(24 * time.Hour)
		if got := ada(); len(got) != 1 || got[0] != "Research" {
			t.Errorf("while members cannot be read ada is of %v", got)
		}
		fails.Store(false)
		time.Sleep(24 * time.Hour)
		if got := ada(); len(got) != 1 || got[0] != "Science" {
			t.Errorf("then ada is of %v", got)
		}
	})
}

// An answer without a list, one with items that name nobody, or one empty list
// takes nobody out of the organisation.
func TestAnAnswerWithoutAListIsNoEmptyOrganisation(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	const want, unnamed = 2, "the second of each without a name"
	name := regexp.MustCompile(`"name":"[^"]*"`)
	for _, answer := range []string{`{}`, `{"items":null}`, `{"error":"try later"}`, `{"items":{}}`, unnamed, `{"items":[5]}`} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := rig.NewUpstream(t, service.Options{}, rig.Meetings(3, rig.Today().Add(-time.Hour), time.Hour))
				organise(t, u, "account_admin")
				var broken, empty atomic.Int32
				intercept(u, func(r *http.Request, body []byte) []byte {
					switch {
					case strings.HasSuffix(r.URL.Path, "/meetings"):
					case broken.Load() > 0 && answer != unnamed:
						return []byte(answer)
					case broken.Load() > 0 && bytes.Contains(body, []byte(`"email"`)):
						return bytes.ReplaceAll(body, []byte(`"email":"bob@example.com"`), []byte(`"email":null`))
					case broken.Load() > 0:
						return name.ReplaceAll(body, []byte(`"name":null`))
					case empty.Add(-1) == 0:
						return []byte(emptyList)
					}
					return body
				})
				ar := rig.NewArchive(t, archivetest.Dir(t))
				s, stop := running(t, syncer.Options{Archive: ar, Schedule: syncer.Schedule{Directory: "30 0 * * *"},
					Accounts: []syncer.Account{{Name: "ada", Client: u.Client(t, ar)}}})
				defer stop()
				whole := func(when string) {
					t.Helper()
					types, err1 := ar.Types(t.Context())
					teams, err2 := ar.Teams(t.Context())
					members, err3 := ar.Memberships(t.Context())
					users, err4 := ar.Users(t.Context())
					if err := errors.Join(err1, err2, err3, err4); err != nil || len(types) != want || len(teams) != want || len(members) != want || len(users) != want {
						t.Errorf("%s: %d types, %d teams, %d members, %d users, %v", when, len(types), len(teams), len(members), len(users), err)
					}
				}
				time.Sleep(time.Hour)
				whole("at first")
				broken.Store(1)
				time.Sleep(24 * time.Hour)
				whole("after an answer without a list")
				if st, err := s.Status(t.Context()); err != nil || len(st.Failures) != 1 {
					t.Errorf("failures %+v, %v", st.Failures, err)
				}
				broken.Store(0)
				empty.Store(2) // the teams
				time.Sleep(24 * time.Hour)
				whole("after one empty list")
			})
		})
	}
}
