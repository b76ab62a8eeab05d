package archive

import (
	"errors"
	"slices"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// The recording of meeting 1 is forbidden to dan, and fetched by eve.
func forbidToDan(t *testing.T, a *Archive) {
	t.Helper()
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), eveSetting}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	walkTwice(t, a, "eve", "", 1)
	saveRefusal(t, a, Download{RecordingID: 1, State: DownloadWanted}, "dan", true)
	must(t, a.SaveDownload(t.Context(), Download{RecordingID: 1, State: DownloadDone, Account: "eve"}))
	checkPlaying(t, a, "forbidden", "dan@example.com", false)
	checkPlaying(t, a, "forbidden to dan", "eve@example.com", true)
}

// saveRefusal saves that the service refuses the recording to an account that was asked just now.
func saveRefusal(t *testing.T, a *Archive, d Download, account string, isForbidden bool) {
	t.Helper()
	asked, err := a.Head(t.Context())
	must(t, err)
	must(t, a.SaveRefusal(t.Context(), d, account, isForbidden, asked))
}

var eveSetting = AccountSetting{Name: "eve", Email: "eve@example.com", Credential: "1", Queries: []string{""}}

func danSetting(name, credential string) AccountSetting {
	return AccountSetting{Name: name, Email: "dan@example.com", Credential: credential, Queries: []string{""}}
}

func checkPlaying(t *testing.T, a *Archive, when, email string, want bool) {
	t.Helper()
	if visible, allowed, err := a.MayPlay(t.Context(), ViewerWith(email), 1); !visible || allowed != want || err != nil {
		t.Errorf("%s: %s sees it: %t, plays it: %t, %v; want %t", when, email, visible, allowed, err, want)
	}
}

// The service forbids a recording to a person, whichever account or key the person has later.
func TestARecordingIsForbiddenToThePerson(t *testing.T) {
	testrun.SkipUnderRace(t)
	kim := AccountSetting{Name: "dan", Email: "kim@example.com", Credential: "2", Queries: []string{""}}
	for _, c := range []struct {
		name  string
		later []AccountSetting
		kim   bool // she has an account
	}{
		{"another key", []AccountSetting{danSetting("dan", "2")}, false},
		{"another name", []AccountSetting{danSetting("daniel", "1")}, false},
		{"another name and key", []AccountSetting{danSetting("daniel", "2")}, false},
		{"a second account", []AccountSetting{danSetting("dan", "1"), danSetting("daniel", "2")}, false},
		{"another person has the account", []AccountSetting{kim, danSetting("daniel", "1")}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArchive(t)
			forbidToDan(t, a)
			must(t, a.SetAccounts(t.Context(), append(c.later, eveSetting)))
			for _, s := range c.later {
				walkTwice(t, a, s.Name, "", 1)
			}
			checkPlaying(t, a, "later", "dan@example.com", false)
			if c.kim {
				checkPlaying(t, a, "later", kim.Email, true)
			}
			for _, s := range c.later {
				if s.Email != kim.Email {
					walkTwice(t, a, s.Name, "")
				}
			}
			for _, s := range c.later {
				walkTwice(t, a, s.Name, "", 1)
			}
			checkPlaying(t, a, "shown again", "dan@example.com", true)
		})
	}
}

// The address of an account becomes known later: followers hear that it is a person's who
// may not play the recording.
func TestAnAddressLeadsToAForbiddenRecording(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	forbidToDan(t, a)
	unnamed := AccountSetting{Name: "daniel", Credential: "2", Queries: []string{""}}
	must(t, a.SetAccounts(t.Context(), []AccountSetting{unnamed, eveSetting}))
	walkTwice(t, a, "daniel", "", 1)
	before, err := a.Head(t.Context())
	must(t, err)
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("daniel", "2"), eveSetting}))
	checkPlaying(t, a, "an address", "dan@example.com", false)
	changes, err := a.Changes(t.Context(), before, 10)
	if err != nil || !slices.ContainsFunc(changes, func(c Change) bool { return c.RecordingID == 1 && c.Kind == ChangeMedia }) {
		t.Errorf("the log has %v, %v", changes, err)
	}
}

// A recording that is lost, or asked for by a person, is forbidden still to those to whom it
// was, until the service gives it to one of them.
func TestARecordingThatIsFetchedAgainStaysForbidden(t *testing.T) {
	testrun.SkipUnderRace(t)
	fetched := func(t *testing.T, a *Archive, account string) {
		t.Helper()
		d, err := a.DownloadOf(t.Context(), 1)
		must(t, err)
		if d.State != DownloadWanted || len(d.RefusedBy) > 0 || d.DownloadID != "" || d.Requests != 0 {
			t.Errorf("wanted again: %+v", d)
		}
		d.State, d.Account = DownloadDone, account
		must(t, a.SaveDownload(t.Context(), d))
	}
	for name, again := range map[string]func(*testing.T, *Archive){
		"by a person": func(t *testing.T, a *Archive) {
			saveRefusal(t, a, Download{RecordingID: 1, State: DownloadRefused}, "eve", false)
			if ok, err := a.RetryDownload(t.Context(), 1); !ok || err != nil {
				t.Fatal(ok, err)
			}
		},
		"lost": func(t *testing.T, a *Archive) {
			b := withMedia(t, a, 1, "a recording")
			d, err := a.DownloadOf(t.Context(), 1)
			must(t, err)
			d.DownloadID, d.Requests = "dl", 1
			must(t, a.SaveDownload(t.Context(), d))
			must(t, a.dropRecording(t.Context(), b.SHA256, true))
			if n, err := a.WantDownloads(t.Context()); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		},
	} {
		for _, account := range []string{"eve", "dan"} {
			t.Run(name+"/"+account, func(t *testing.T) {
				a := newArchive(t)
				forbidToDan(t, a)
				again(t, a)
				fetched(t, a, account)
				checkPlaying(t, a, "fetched by "+account, "dan@example.com", account == "dan")
			})
		}
	}
}

// Later the meeting is shared in another way. The service gives the recording to teammates who
// view it (specification 4.5); whose teams several are, it does not say.
func TestAForbiddenRecordingIsPlayedByWhomItIsSharedWithLater(t *testing.T) {
	testrun.SkipUnderRace(t)
	for shared, want := range map[string]bool{"all_teams": true, "single_team": true, "multiple_teams": false, "no_teams": false} {
		a := newArchive(t)
		forbidToDan(t, a)
		must(t, a.PutTeams(t.Context(), "eve", []api.Team{{Name: "Research"}}, TeamMembers{"Research", []api.TeamMember{{Email: "dan@example.com"}}}))
		for i, account := range []string{"dan", "eve"} {
			apply(t, a, listedMeeting(t, account, "", 24*30+i, 1, "ann@example.com", "Research", shared))
		}
		checkPlaying(t, a, shared, "dan@example.com", want)
	}
}

// The downloader saves the row that it read a while ago: whatever changed since in who may have
// the recording stays.
func TestADownloadInProgressKeepsRefusals(t *testing.T) {
	testrun.SkipUnderRace(t)
	read := func(a *Archive) Download {
		d, err := a.DownloadOf(t.Context(), 1)
		must(t, err)
		return d
	}
	t.Run("shown again", func(t *testing.T) {
		a := newArchive(t)
		forbidToDan(t, a)
		d := read(a)
		walkTwice(t, a, "dan", "")
		walkTwice(t, a, "dan", "", 1)
		d.State = DownloadNone
		must(t, a.SaveDownload(t.Context(), d))
		checkPlaying(t, a, "shown again", "dan@example.com", true)
	})
	t.Run("another person has the account", func(t *testing.T) {
		a := newArchive(t)
		forbidToDan(t, a)
		d := read(a)
		kim := AccountSetting{Name: "dan", Email: "kim@example.com", Credential: "2", Queries: []string{""}}
		must(t, a.SetAccounts(t.Context(), []AccountSetting{kim, danSetting("daniel", "1"), eveSetting}))
		must(t, a.SaveDownload(t.Context(), d))
		walkTwice(t, a, "dan", "", 1)
		walkTwice(t, a, "daniel", "", 1)
		checkPlaying(t, a, "later", "dan@example.com", false)
		checkPlaying(t, a, "later", kim.Email, true)
	})
	t.Run("shared in another way", func(t *testing.T) {
		a := newArchive(t)
		forbidToDan(t, a)
		saveRefusal(t, a, Download{RecordingID: 1, State: DownloadWanted}, "eve", false)
		d := read(a)
		apply(t, a, observe(t, SourceWebhook, epoch0, []byte(`{"recording_id": 1, "shared_with": "all_teams"}`)))
		d.State, d.Due = DownloadRefused, epoch0
		must(t, a.SaveDownload(t.Context(), d))
		if n, err := a.WantDownloads(t.Context()); n != 1 || err != nil {
			t.Errorf("%d are wanted, %v; want 1", n, err)
		}
	})
}

// Accounts that were shown no such recording are asked again, those to whom it was forbidden not.
func TestEndUnfoundKeepsWhoIsForbidden(t *testing.T) {
	a := newArchive(t)
	forbidToDan(t, a)
	saveRefusal(t, a, Download{RecordingID: 1, State: DownloadWanted}, "eve", false)
	must(t, a.EndUnfound(t.Context(), 1))
	d, err := a.DownloadOf(t.Context(), 1)
	if err != nil || !slices.Equal(d.RefusedBy, []string{"dan"}) || !slices.Equal(d.ForbiddenTo, []string{"dan"}) {
		t.Errorf("refused by %v, forbidden to %v, %v", d.RefusedBy, d.ForbiddenTo, err)
	}
	checkPlaying(t, a, "forbidden", "dan@example.com", false)
}

// The account of a person to whom no such recording was shown has another name, or the person has
// a second account, when the lists show the meeting anew.
func TestARefusalEndsForThePerson(t *testing.T) {
	a := newArchive(t)
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), eveSetting}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	for _, account := range []string{"dan", "eve"} {
		saveRefusal(t, a, Download{RecordingID: 1, State: DownloadRefused}, account, false)
	}
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("daniel", "1"), eveSetting}))
	walkTwice(t, a, "daniel", "", 1)
	if d, err := a.DownloadOf(t.Context(), 1); err != nil || !slices.Equal(d.RefusedBy, []string{"eve"}) {
		t.Errorf("refused by %v, %v", d.RefusedBy, err)
	}
}

// An account is refused the recording while it becomes another person's, or while the lists
// show the meeting anew: nobody knows whether the refusal holds now.
func TestARefusalOfBeforeCountsForNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	kim := AccountSetting{Name: "dan", Email: "kim@example.com", Credential: "2", Queries: []string{""}}
	for name, change := range map[string]func(*Archive){
		"another person has the account": func(a *Archive) {
			must(t, a.SetAccounts(t.Context(), []AccountSetting{kim, danSetting("daniel", "1")}))
			walkTwice(t, a, "dan", "", 1)
		},
		"shown again": func(a *Archive) {
			walkTwice(t, a, "dan", "")
			walkTwice(t, a, "dan", "", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1")}))
			apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
			walkTwice(t, a, "dan", "", 1)
			asked, err := a.Head(t.Context())
			must(t, err)
			change(a)
			must(t, a.SaveRefusal(t.Context(), Download{RecordingID: 1, State: DownloadRefused}, "dan", true, asked))
			if d, err := a.DownloadOf(t.Context(), 1); err != nil || len(d.RefusedBy) > 0 || len(d.ForbiddenTo) > 0 {
				t.Errorf("refused by %v, forbidden to %v, %v", d.RefusedBy, d.ForbiddenTo, err)
			}
			if n, err := a.WantDownloads(t.Context()); n != 1 || err != nil {
				t.Errorf("%d are wanted, %v; want 1", n, err)
			}
		})
	}
}

// A list of another account shows the meeting while an account is forbidden the recording, which that
// other account can fetch: the account is asked again, and its person does not play it before.
func TestARefusalBesideAnotherListForbids(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), eveSetting}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	asked, err := a.Head(t.Context())
	must(t, err)
	walkTwice(t, a, "eve", "", 1)
	must(t, a.SaveRefusal(t.Context(), Download{RecordingID: 1, State: DownloadWanted}, "dan", true, asked))
	d, err := a.DownloadOf(t.Context(), 1)
	if err != nil || len(d.RefusedBy) > 0 || !slices.Equal(d.ForbiddenTo, []string{"dan"}) {
		t.Errorf("refused by %v, forbidden to %v, %v", d.RefusedBy, d.ForbiddenTo, err)
	}
}

// A retention rule, or a repair, works on the recording while its download ends.
func TestADownloadInProgressKeepsTheState(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	b := withMedia(t, a, 1, "a recording")
	d := Download{RecordingID: 1, State: DownloadDone, Account: "eve"}
	must(t, a.dropRecording(t.Context(), b.SHA256, true))
	must(t, a.SaveDownload(t.Context(), d))
	if n, err := a.WantDownloads(t.Context()); n != 1 || err != nil {
		t.Errorf("after a repair %d are wanted, %v; want 1", n, err)
	}
	_, err := a.deleteRecordings(t.Context(), &Expired{RecordingID: 1, Rule: 1}, mayAlways)
	must(t, err)
	d.State = DownloadRequested
	if err := a.SaveDownload(t.Context(), d); !errors.Is(err, ErrForgotten) {
		t.Errorf("a rule has deleted the recording: %v", err)
	}
	if d, err := a.DownloadOf(t.Context(), 1); err != nil || d.State != DownloadDeleted {
		t.Errorf("%+v, %v", d, err)
	}
}

// The account that requested the recording becomes the person's to whom it is forbidden.
func TestAFormerPersonsDownloadAllowsNobody(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := newArchive(t)
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), eveSetting}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	walkTwice(t, a, "eve", "", 1)
	saveRefusal(t, a, Download{RecordingID: 1, State: DownloadWanted}, "dan", true)
	requested := Download{RecordingID: 1, State: DownloadReady, Account: "eve", RequestedAt: a.now().Add(-time.Hour)}
	must(t, a.SaveDownload(t.Context(), requested))
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1"), danSetting("eve", "2")}))
	walkTwice(t, a, "eve", "", 1)
	requested.State = DownloadDone
	must(t, a.SaveDownload(t.Context(), requested))
	checkPlaying(t, a, "got with the former person's key", "dan@example.com", false)
}

// TestARecordingStaysForbiddenUnderANewAddress gives dan another address, with the same key, which
// is one user's (specification 5.2).
func TestARecordingStaysForbiddenUnderANewAddress(t *testing.T) {
	a := newArchive(t)
	forbidToDan(t, a)
	danny := AccountSetting{Name: "dan", Email: "danny@example.com", Credential: "1", Queries: []string{""}}
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danny, eveSetting}))
	walkTwice(t, a, "dan", "", 1)
	checkPlaying(t, a, "the same key, a new address", "danny@example.com", false)
}

// TestADownloadCountsForThePersonWhoseKeyIsReplaced replaces dan's key while the download that the
// service gave to dan is in progress.
func TestADownloadCountsForThePersonWhoseKeyIsReplaced(t *testing.T) {
	a := newArchive(t)
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "1")}))
	apply(t, a, observe(t, SourceWebhook, epoch0, meetingJSON(1, "T", "x")))
	walkTwice(t, a, "dan", "", 1)
	saveRefusal(t, a, Download{RecordingID: 1, State: DownloadRefused}, "dan", true)
	if ok, err := a.RetryDownload(t.Context(), 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	requested := Download{RecordingID: 1, State: DownloadReady, Account: "dan", RequestedAt: a.now().Add(-time.Hour)}
	must(t, a.SaveDownload(t.Context(), requested))
	must(t, a.SetAccounts(t.Context(), []AccountSetting{danSetting("dan", "2")}))
	walkTwice(t, a, "dan", "", 1)
	requested.State = DownloadDone
	must(t, a.SaveDownload(t.Context(), requested))
	checkPlaying(t, a, "given to dan", "dan@example.com", true)
}
