package archive

import (
	"slices"
	"testing"

	"minutebook/api"
)

// What the directory says of the person of an account matters, and of everybody where nobody knows
// whose the account is; names do not.
func TestRightsDigest(t *testing.T) {
	a := newArchive(t)
	must(t, a.PutAccountPerson(t.Context(), "dan", "dan@example.com"))
	user := func(email, name, level string) api.User {
		return api.User{Email: email, Name: api.Some(name), Status: api.StatusActive, Permissions: api.Some(api.Permissions{SettingsAccess: api.Access{Level: level}})}
	}
	users := func(users ...api.User) func() error {
		return func() error { return a.PutUsers(t.Context(), "dan", users) }
	}
	last := map[string]string{}
	check := func(what string, dans, others bool, change func() error) {
		t.Helper()
		must(t, change())
		for account, want := range map[string]bool{"dan": dans, "other": others} {
			digest, err := a.RightsDigest(t.Context(), account)
			if changed := digest != last[account]; changed != want || err != nil {
				t.Errorf("%s changes what is said of %s: %t, %v; want %t", what, account, changed, err, want)
			}
			last[account] = digest
		}
	}
	check("the first list", true, true, users(user("dan@example.com", "Dan", api.SettingsNone)))
	check("the same list", false, false, users(user("Dan@example.com", "Dan", api.SettingsNone)))
	check("a name", false, false, users(user("dan@example.com", "Daniel", api.SettingsNone)))
	check("another user", false, true, users(user("dan@example.com", "Daniel", api.SettingsNone), user("eve@example.com", "Eve", api.SettingsNone)))
	check("an admin", true, true, users(user("dan@example.com", "Daniel", api.SettingsAccountAdmin), user("eve@example.com", "Eve", api.SettingsNone)))
	check("a member", true, true, func() error {
		return a.PutTeamMembers(t.Context(), "dan", "Sales", []api.TeamMember{{Email: "dan@example.com"}})
	})
}

func TestEndRefusals(t *testing.T) {
	a := newArchive(t)
	forbidToDan(t, a)
	saveRefusal(t, a, Download{RecordingID: 1, State: DownloadRefused}, "eve", false)
	must(t, a.EndRefusals(t.Context(), "dan", Mark{Key: "k", Value: []byte("1")}))
	d, err := a.DownloadOf(t.Context(), 1)
	if err != nil || !slices.Equal(d.RefusedBy, []string{"eve"}) || !slices.Equal(d.ForbiddenTo, []string{"dan"}) {
		t.Errorf("refused by %v, forbidden to %v, %v", d.RefusedBy, d.ForbiddenTo, err)
	}
	if mark, err := a.Mark(t.Context(), "k"); string(mark) != "1" || err != nil {
		t.Errorf("the mark is %q, %v", mark, err)
	}
}
