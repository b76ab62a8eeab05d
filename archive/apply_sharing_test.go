package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// checker is a test, or a round of one.
type checker interface {
	Context() context.Context
	Fatal(...any)
}

// sharingReads applies reads of meeting 1 by accounts, each an hour after the one before.
type sharingReads struct {
	a     *Archive
	hours int
}

// read shows the meeting with a value of shared_with and a team, null for "", and returns
// the number of changes that are logged.
func (r *sharingReads) read(t checker, account, with, team string) int {
	quoted := "null"
	if team != "" {
		quoted = `"` + team + `"`
	}
	r.hours++
	applied, err := r.a.Apply(t.Context(), []Observation{{Account: account, Source: SourceList, At: epoch0.Add(time.Duration(r.hours) * time.Hour), RecordingID: 1,
		Parts: map[api.Part]json.RawMessage{api.PartMeeting: json.RawMessage(fmt.Sprintf(
			`{"recording_id":1,"title":"T","shared_with":%q,"recorded_by":{"name":"Ann","email":"ann@x","team":%s}}`, with, quoted))}}})
	if err != nil {
		t.Fatal(err)
	}
	return len(applied.Changed)
}

// shows returns the sharing that decides who sees the meeting.
func (r *sharingReads) shows(t checker) string {
	row, err := columnOf(r.a.db, `SELECT shared_with || ' ' || sharing_team FROM meetings`)
	if err != nil {
		t.Fatal(err)
	}
	return row[0]
}

// TestAccountsThatDisagreeOnSharesDoNotTakeTurns shows a meeting each night to accounts
// that are shown different shares for good. After the first night nothing is logged, and
// the narrowest share counts.
func TestAccountsThatDisagreeOnSharesDoNotTakeTurns(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := drawArchive(t)
	rapid.Check(t, func(rt *rapid.T) {
		clearArchive(rt, a)
		r := &sharingReads{a: a}
		accounts := []string{"ann", "bob", "cyd"}[:rapid.IntRange(2, 3).Draw(rt, "accounts")]
		narrowest := []string{"no_teams", "multiple_teams", "single_team", "all_teams"}
		draw := func() (says map[string][2]string, want int) {
			says, want = map[string][2]string{}, len(narrowest)
			for _, name := range accounts {
				reach := rapid.IntRange(0, 3).Draw(rt, "reach")
				says[name] = [2]string{narrowest[reach], rapid.SampledFrom([]string{"", "Sales", "Ops"}).Draw(rt, "team")}
				want = min(want, reach)
			}
			return says, want
		}
		for range 2 { // the second time after a change of the shares
			says, want := draw()
			night := func() (changed int) {
				for _, name := range rapid.Permutation(accounts).Draw(rt, "order") {
					changed += r.read(rt, name, says[name][0], says[name][1])
				}
				return changed
			}
			night()
			for n := range 2 {
				if changed := night(); changed > 0 && n > 0 {
					rt.Fatalf("night %d logged %d changes of %v", n, changed, says)
				}
			}
			got := r.shows(rt)
			if got[:len(narrowest[want])+1] != narrowest[want]+" " {
				rt.Fatalf("shared with %q, want %s of %v", got, narrowest[want], says)
			}
		}
	})
}

// TestSharesFollowAChange tells a change of the shares from accounts that disagree.
func TestSharesFollowAChange(t *testing.T) {
	r := &sharingReads{a: newArchive(t)}
	for i, step := range []struct{ account, with, team, want string }{
		{"ann", "all_teams", "Sales", "all_teams Sales"},
		{"bob", "all_teams", "Sales", "all_teams Sales"},
		{"ann", "no_teams", "Sales", "no_teams Sales"},       // narrower at once
		{"bob", "all_teams", "Sales", "no_teams Sales"},      // bob's list says so still, or for good
		{"ann", "single_team", "Sales", "single_team Sales"}, // wider: bob was shown more all the time
		{"bob", "single_team", "Sales", "single_team Sales"},
		{"ann", "single_team", "Ops", "single_team Ops"}, // another team, as the newest read says
		{"bob", "single_team", "Ops", "single_team Ops"},
		{"ann", "all_teams", "Ops", "all_teams Ops"},     // wider: bob was not asked since
		{"bob", "single_team", "Ops", "single_team Ops"}, // but is shown less
		{"ann", "all_teams", "Ops", "single_team Ops"},
		{"bob", "single_team", "", "single_team "}, // narrower: to no team
		{"ann", "all_teams", "Ops", "single_team "},
	} {
		r.read(t, step.account, step.with, step.team)
		if got := r.shows(t); got != step.want {
			t.Fatalf("step %d: shared with %q, want %q", i, got, step.want)
		}
	}
}

// TestTheTeamIsTheRecordersOwn shows a meeting to two accounts with different recorders.
// The narrower share counts, which the second account is shown, for the team of the
// recorder that the first account, the meeting's home, is shown.
func TestTheTeamIsTheRecordersOwn(t *testing.T) {
	a := newArchive(t)
	ann := shownAt(1, `"shared_with":"all_teams","recorded_by":{"name":"Bob","email":"bob@x","team":"Sales"}`)
	cyd := shownAt(2, `"shared_with":"single_team","recorded_by":{"name":"Cy","email":"cy@x","team":"Ops"}`)
	cyd.Account = "b"
	again := ann
	again.At = cyd.At.Add(time.Hour)
	apply(t, a, ann, cyd, again)
	if got := (&sharingReads{a: a}).shows(t); got != "single_team Sales" {
		t.Errorf("shared with %q, want single_team Sales", got)
	}
}

// TestASharingEndsWithItsReader shows a meeting with one sharing, with another and with the
// first again, to Ann at last. Bob was shown the other one after Ann, and is shown
// nothing any more. Until then Bob's value stands, since it may be the newer one.
func TestASharingEndsWithItsReader(t *testing.T) {
	settings := []AccountSetting{
		{Name: "ann", Email: "ann@x", Credential: "a", Queries: []string{""}},
		{Name: "bob", Email: "bob@x", Credential: "b", Queries: []string{""}},
	}
	configure := func(all []AccountSetting) func(*testing.T, *Archive) {
		return func(t *testing.T, a *Archive) {
			if err := a.SetAccounts(t.Context(), all); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, values := range [][2][2]string{
		{{"single_team", "Sales"}, {"single_team", "Ops"}},
		{{"all_teams", "Sales"}, {"no_teams", "Sales"}},
	} {
		for name, end := range map[string]func(*testing.T, *Archive){
			"a walk lacks the meeting": func(t *testing.T, a *Archive) {
				for range 2 {
					w, err := a.BeginWalk(t.Context(), "bob", "")
					if err == nil {
						_, err = a.CompleteWalk(t.Context(), w)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			},
			"another credential": func(t *testing.T, a *Archive) {
				other := slices.Clone(settings)
				other[1].Credential = "c"
				configure(other)(t, a)
			},
			"no account": configure(settings[:1]),
			"another query": func(t *testing.T, a *Archive) {
				other := slices.Clone(settings)
				other[1].Queries = []string{"team=x"}
				configure(other)(t, a)
			},
		} {
			t.Run(name, func(t *testing.T) {
				r := &sharingReads{a: newArchive(t)}
				configure(settings)(t, r.a)
				first, second := values[0], values[1]
				r.read(t, "bob", first[0], first[1])
				r.read(t, "ann", first[0], first[1])
				r.read(t, "ann", second[0], second[1])
				r.read(t, "bob", second[0], second[1])
				r.read(t, "ann", first[0], first[1])
				if got, want := r.shows(t), second[0]+" "+second[1]; got != want && second[0] == "no_teams" {
					t.Fatalf("with both accounts: shared with %q, want %q", got, want)
				}
				end(t, r.a)
				want := first[0] + " " + first[1]
				if got := r.shows(t); got != want {
					t.Errorf("shared with %q, want %q", got, want)
				}
				parts, err := r.a.PartsAt(t.Context(), 1, epoch0.AddDate(100, 0, 0))
				if err != nil || !strings.Contains(string(parts[api.PartMeeting]), `"shared_with":"`+first[0]+`"`) {
					t.Errorf("at the end: %s, %v", parts[api.PartMeeting], err)
				}
				if _, damages := verify(t, r.a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
					t.Errorf("verify finds %v", damages)
				}
			})
		}
	}
}

// TestAccountsAreSetThoughDecidingFails takes an account away while the disk has no room to
// decide about its meeting. The accounts are in force, and the next call decides.
func TestAccountsAreSetThoughDecidingFails(t *testing.T) {
	r := &sharingReads{a: newArchive(t)}
	set := func(accounts ...AccountSetting) {
		t.Helper()
		if err := r.a.SetAccounts(t.Context(), accounts); err != nil {
			t.Fatal(err)
		}
	}
	ann, bob := AccountSetting{Name: "ann", Queries: []string{""}}, AccountSetting{Name: "bob", Queries: []string{""}}
	set(ann, bob)
	for _, read := range [][2]string{{"bob", "Sales"}, {"ann", "Sales"}, {"ann", "Ops"}, {"bob", "Ops"}, {"ann", "Sales"}} {
		r.read(t, read[0], "single_team", read[1])
	}
	limitPages := func(pages int) {
		t.Helper()
		if _, err := r.a.db.W.ExecContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)); err != nil {
			t.Fatal(err)
		}
	}
	damageDatabase(t, r.a.db.Path, `CREATE TRIGGER full BEFORE UPDATE OF sharing_rank ON revisions
		BEGIN INSERT INTO info VALUES ('full', hex(zeroblob(5000000))); END`)
	limitPages(1000)
	set(ann)
	if got := r.shows(t); got != "single_team Ops" {
		t.Fatalf("on a full disk: %q", got)
	}
	limitPages(1 << 30)
	damageDatabase(t, r.a.db.Path, `DROP TRIGGER full`)
	set(ann)
	if got := r.shows(t); got != "single_team Sales" {
		t.Errorf("with room again: %q", got)
	}
}

// TestAnUnreadableVersionEndsNoWalk has a damaged version of a meeting that two complete
// walks lack. The meeting is hidden nevertheless.
func TestAnUnreadableVersionEndsNoWalk(t *testing.T) {
	r := &sharingReads{a: newArchive(t)}
	r.read(t, "bob", "single_team", "Sales")
	r.read(t, "ann", "single_team", "Ops")
	damageDatabase(t, r.a.db.Path, `UPDATE bodies SET encoding = 1, body = x'00'`)
	hidden := 0
	for range 2 {
		w, err := r.a.BeginWalk(t.Context(), "bob", "")
		if err != nil {
			t.Fatal(err)
		}
		absence, err := r.a.CompleteWalk(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		hidden += absence.Hidden
	}
	if hidden != 1 {
		t.Errorf("%d meetings are hidden, want 1", hidden)
	}
}

// TestAHomeEndsWithItsSightings shows Ann a transcript that Bob, who was shown the meeting
// first, was shown once. It is current while Bob is shown the meeting no more.
func TestAHomeEndsWithItsSightings(t *testing.T) {
	a := newArchive(t)
	hours := 0
	read := func(account string, part api.Part, raw string, walk int64) {
		hours++
		apply(t, a, Observation{Account: account, Source: SourceList, At: epoch0.Add(time.Duration(hours) * time.Hour), RecordingID: 1, Walk: walk,
			Parts: map[api.Part]json.RawMessage{part: json.RawMessage(raw)}})
	}
	transcript := func(text string) string {
		return `[{"speaker":{"display_name":"Ann"},"text":"` + text + `","timestamp":"00:00:01"}]`
	}
	check := func(step, want string) {
		parts, err := a.PartsOf(t.Context(), 1)
		if err != nil || string(parts[api.PartTranscript]) != transcript(want) {
			t.Errorf("%s: %s, %v, want %s", step, parts[api.PartTranscript], err, want)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("%s: verify finds %v", step, damages)
		}
	}
	read("bob", api.PartMeeting, `{"recording_id":1,"title":"T"}`, 0)
	read("bob", api.PartTranscript, transcript("first"), 0)
	read("ann", api.PartMeeting, `{"recording_id":1,"title":"T"}`, 0)
	read("ann", api.PartTranscript, transcript("second"), 0)
	read("ann", api.PartTranscript, transcript("first"), 0)
	check("with both", "second")
	var walk Walk
	for range 2 {
		var err error
		if walk, err = a.BeginWalk(t.Context(), "bob", ""); err == nil {
			_, err = a.CompleteWalk(t.Context(), walk)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check("with Ann", "first")
	read("bob", api.PartMeeting, `{"recording_id":1,"title":"T"}`, walk.Number+1)
	check("with both again", "second")
}
