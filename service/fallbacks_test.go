package service

import (
	"slices"
	"strings"
	"testing"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestTheFilterOfDomainsKnowsWhatIsShown lists meetings whose type of domains is missing,
// unknown or `all`: the filter finds each by the value that its answer has.
func TestTheFilterOfDomainsKnowsWhatIsShown(t *testing.T) {
	testrun.SkipUnderRace(t)
	external := `[{"name": "C", "email": "c@client.example", "email_domain": "client.example", "is_external": true}]`
	s := newSandbox(t, Options{},
		meeting(1, "shared_with", `"all_teams"`, "calendar_invitees_domains_type", "null", "calendar_invitees", external),
		meeting(2, "shared_with", `"all_teams"`, "calendar_invitees_domains_type", `"all"`, "calendar_invitees", external),
		meeting(3, "shared_with", `"all_teams"`, "calendar_invitees_domains_type", `"some"`, "calendar_invitees", "[]"),
		meeting(4, "shared_with", `"all_teams"`, "calendar_invitees_domains_type", `"only_internal"`, "calendar_invitees", external))
	for query, want := range map[string][]int64{api.DomainsExternal: {2, 1}, api.DomainsOnlyInternal: {4, 3}} {
		query = "calendar_invitees_domains_type=" + query
		if got := s.walk(query, s.admin); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
		value := strings.ReplaceAll(query, "=", `":"`) + `"`
		if a := s.get("/meetings?"+query, s.admin, 200); strings.Count(string(a.body), value) != len(want) {
			t.Errorf("%s: %s", query, a.body)
		}
	}
}

// TestWhoIsNoAdminAnyMoreHasPermissions has the service refuse the list of users to an admin,
// who then is none: an archive without this person's permissions shows those of a person (2.6).
func TestWhoIsNoAdminAnyMoreHasPermissions(t *testing.T) {
	testrun.SkipUnderRace(t)
	s, a := newOverlay(t)
	for _, err := range []error{a.PutAccountPerson(t.Context(), "kims", "kim@acme.example"),
		a.PutUsers(t.Context(), "bosses", []api.User{
			{Email: "kim@acme.example", Status: api.StatusActive, Permissions: api.Some(adminPermissions())},
			{Email: "boss@acme.example", Status: api.StatusActive, Permissions: api.Some(adminPermissions())},
			{Email: "new@acme.example", Status: api.StatusInvited}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if ended, err := a.EndUsers(t.Context(), "kims"); err != nil || !ended {
		t.Fatal(ended, err)
	}
	var page struct{ Items []api.User }
	s.get("/users", s.key("boss@acme.example"), 200).decode(t, &page)
	at := slices.IndexFunc(page.Items, func(u api.User) bool { return u.Email == "kim@acme.example" })
	if at < 0 {
		t.Fatalf("%+v", page.Items)
	}
	if p, ok := page.Items[at].Permissions.Get(); !ok || p.SettingsAccess.Level != api.SettingsNone || p.ViewAccess.Level != api.ViewOwnMeetings {
		t.Errorf("kim has %+v", page.Items[at])
	}
	for _, u := range page.Items {
		if u.Permissions.Absent() != (u.Status == api.StatusInvited) {
			t.Errorf("%s, %s, has permissions %+v", u.Email, u.Status, u.Permissions)
		}
	}
}

// TestADeactivationAtTheServiceEndsAKey creates a user here whom a list then deactivates: the
// key works no more, and the owner is told why the user cannot be made active, until the account
// with the list has left.
func TestADeactivationAtTheServiceEndsAKey(t *testing.T) {
	testrun.SkipUnderRace(t)
	s, a := newOverlay(t)
	user := NewUser{Email: "kim@acme.example"}
	if _, err := s.CreateUser(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	key := s.key(user.Email)
	s.get("/meetings", key, 200)
	if err := a.PutUsers(t.Context(), "bosses", []api.User{{Email: user.Email, Status: api.StatusDeactivated}}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetUserStatus(t.Context(), user.Email, api.StatusActive); err == nil || !strings.Contains(err.Error(), "kim@acme.example: the service's list of users calls this user deactivated") {
		t.Errorf("made active: %v", err)
	}
	s.get("/meetings", key, 401)
	if err := a.SetAccounts(t.Context(), []archive.AccountSetting{{Name: "ada"}}); err != nil { // the list is read no more
		t.Fatal(err)
	}
	s.get("/meetings", key, 401)
	if err := s.SetUserStatus(t.Context(), user.Email, api.StatusActive); err != nil {
		t.Error(err)
	}
	s.get("/meetings", key, 200)
}

// TestARefusedChangeOfAUserIsNotStored makes a user an admin whom the list calls deactivated:
// nothing of it comes into force when the service makes the user active again.
func TestARefusedChangeOfAUserIsNotStored(t *testing.T) {
	testrun.SkipUnderRace(t)
	s, a := newOverlay(t)
	listed := func(status string) {
		t.Helper()
		if err := a.PutUsers(t.Context(), "bosses", []api.User{{Email: "kim@acme.example", Status: status}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, status := range []string{api.StatusActive, api.StatusInvited} {
		listed(api.StatusDeactivated)
		user := NewUser{Email: "Kim@acme.example", Admin: true, Team: "Sales", Status: status}
		if _, err := s.CreateUser(t.Context(), user); err == nil || !strings.Contains(err.Error(), "kim@acme.example: the service's list of users calls this user deactivated") {
			t.Errorf("%s: %v", status, err)
		}
		listed(api.StatusActive)
		if u, err := a.User(t.Context(), "kim@acme.example"); err != nil || u.Status != api.StatusActive || u.Permissions.Or(api.Permissions{}).SettingsAccess.Level != "" {
			t.Errorf("%s: active again: %+v, %v", status, u, err)
		}
	}
	listed(api.StatusDeactivated)
	if _, err := s.CreateUser(t.Context(), NewUser{Email: "kim@acme.example", Status: api.StatusDeactivated}); err != nil {
		t.Error(err)
	}
}

// TestADeactivatedAdministratorStopsNoSandbox starts a sandbox over an archive whose lists have
// the address of its administrator, as a deactivated user.
func TestADeactivatedAdministratorStopsNoSandbox(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := openTestArchive(t, ArchiveDir(t))
	users := []api.User{{Email: "ann@acme.example", Status: api.StatusActive}, {Email: "admin@acme.example", Status: api.StatusDeactivated}}
	if err := a.PutUsers(t.Context(), "bosses", users); err != nil {
		t.Fatal(err)
	}
	s := newSandbox(t, Options{Archive: a, Sandbox: true})
	s.get("/meetings", s.admin, 200)
	if key, created, err := s.EnsureAdminKey(t.Context()); created || err != nil {
		t.Errorf("again: %q, %t, %v", key, created, err)
	}
}
