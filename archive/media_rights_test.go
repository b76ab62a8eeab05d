package archive

import (
	"slices"
	"testing"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// The directory says something else of a person than before, to whom a recording was refused: the
// service may give it to an admin, or to a member of the team.
func TestARefusalEndsWithThePersonsRights(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1")}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	check := func(when string, want int, put func() error) {
		t.Helper()
		saveRefusal(t, a, Download{RecordingID: 1, State: DownloadRefused}, "dan", true)
		must(t, put())
		if n, err := a.WantDownloads(t.Context()); n != want || err != nil {
			t.Errorf("%s: %d are wanted, %v; want %d", when, n, err, want)
		}
		if d, err := a.DownloadOf(t.Context(), 1); err != nil || !slices.Equal(d.ForbiddenTo, []string{"dan"}) {
			t.Errorf("%s: forbidden to %v, %v", when, d.ForbiddenTo, err)
		}
	}
	user := func(email, level string) api.User {
		return api.User{Email: email, Status: api.StatusActive, Permissions: api.Some(api.Permissions{SettingsAccess: api.Access{Level: level}})}
	}
	users := func(level string) func() error {
		return func() error {
			return a.PutUsers(t.Context(), "dan", []api.User{user("eve@example.com", api.SettingsNone), user("Dan@example.com", level)})
		}
	}
	check("users", 1, users(api.SettingsNone))
	check("the same users", 0, users(api.SettingsNone))
	check("an admin", 1, users(api.SettingsAccountAdmin))
	member := func() error {
		return a.PutTeamMembers(t.Context(), "dan", "Sales", []api.TeamMember{{Email: "dan@example.com"}})
	}
	check("a member of a team", 1, member)
	check("the same members", 0, member)
	must(t, a.PutAccountPerson(t.Context(), "dan", ""))
	check("nobody knows whose the account is", 1, users(api.SettingsNone))
	check("the same users as before", 0, users(api.SettingsNone))
}
