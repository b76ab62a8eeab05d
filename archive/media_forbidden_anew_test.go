package archive

import (
	"testing"

	"minutebook/internal/testrun"
)

// walkOnce walks a list that shows some meetings.
func walkOnce(t *testing.T, a *Archive, account string, ids ...int64) {
	t.Helper()
	w := beginWalk(t, a, account, "")
	apply(t, a, listObservations(account, "", w.Number, ids...)...)
	completeWalk(t, a, w)
}

// TestAForbiddenMeetingIsSharedAnewAfterAnotherAccount replaces dan's key or account while the
// recording is forbidden to dan. No walk ends the sightings of the former account: dan plays the recording
// once two whole walks of the new one have lacked the meeting, and it is shown again.
func TestAForbiddenMeetingIsSharedAnewAfterAnotherAccount(t *testing.T) {
	testrun.SkipUnderRace(t)
	kim := AccountSetting{Name: "dan", Email: "kim@example.com", Credential: "2", Queries: []string{""}}
	for name, later := range map[string][]AccountSetting{
		"another key":                    {danSetting("dan", "2")},
		"another name":                   {danSetting("daniel", "1")},
		"another name and key":           {danSetting("daniel", "2")},
		"another person has the account": {danSetting("daniel", "1"), kim},
	} {
		for lacking, want := range map[int]bool{0: false, 1: false, 2: true} {
			t.Run(name, func(t *testing.T) {
				a := newArchive(t)
				forbidToDan(t, a)
				must(t, a.SetAccounts(t.Context(), append(later, eveSetting)))
				if len(later) > 1 {
					walkTwice(t, a, kim.Name, "", 1)
				}
				for range lacking {
					walkOnce(t, a, later[0].Name)
				}
				walkTwice(t, a, later[0].Name, "", 1)
				checkPlaying(t, a, "shown after walks that lacked it", "dan@example.com", want)
			})
		}
	}
}

// TestAnAccountWithoutAnAddressIsSharedAnew replaces the key of an account of which no address is known.
func TestAnAccountWithoutAnAddressIsSharedAnew(t *testing.T) {
	a := newArchive(t)
	unnamed := AccountSetting{Name: "dan", Credential: "1", Queries: []string{""}}
	must(t, a.SetAccounts(t.Context(), []AccountSetting{unnamed, eveSetting}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	walkTwice(t, a, "eve", "", 1)
	saveRefusal(t, a, Download{RecordingID: 1, State: DownloadWanted}, "dan", true)
	unnamed.Credential = "2"
	must(t, a.SetAccounts(t.Context(), []AccountSetting{unnamed, eveSetting}))
	walkTwice(t, a, "dan", "")
	walkTwice(t, a, "dan", "", 1)
	if d, err := a.DownloadOf(t.Context(), 1); err != nil || len(d.ForbiddenTo) > 0 {
		t.Errorf("forbidden to %v, %v", d.ForbiddenTo, err)
	}
}

// TestAnothersListShowsNothingAnew has lists lack the meeting that are not dan's.
func TestAnothersListShowsNothingAnew(t *testing.T) {
	testrun.SkipUnderRace(t)
	kim := AccountSetting{Name: "daniel", Email: "kim@example.com", Credential: "3", Queries: []string{""}}
	for name, change := range map[string]func(*testing.T, *Archive) string{
		"eve's, while nobody reads dan's": func(t *testing.T, a *Archive) string {
			must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "2"), eveSetting}))
			walkTwice(t, a, "eve", "")
			return "dan"
		},
		"kim's, whose account is dan's later": func(t *testing.T, a *Archive) string {
			must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), kim, eveSetting}))
			walkTwice(t, a, "daniel", "", 1)
			walkTwice(t, a, "daniel", "")
			must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("daniel", "1"), eveSetting}))
			return "daniel"
		},
		"dan's second, before the first left": func(t *testing.T, a *Archive) string {
			must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), danSetting("daniel", "2"), eveSetting}))
			walkTwice(t, a, "daniel", "")
			w := beginWalk(t, a, "daniel", "")
			must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("daniel", "2"), eveSetting}))
			completeWalk(t, a, w)
			return "daniel"
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			forbidToDan(t, a)
			walkTwice(t, a, change(t, a), "", 1)
			checkPlaying(t, a, "shown by a new list alone", "dan@example.com", false)
		})
	}
}
