package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/api"
)

// TestAnArchiveOfOlderRulesIsDecidedAgain: content that the rules by top-level keys had
// blanked comes back when the archive is opened, once, and followers are told of
// it and of nothing else.
func TestAnArchiveOfOlderRulesIsDecidedAgain(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	apply(t, a, shownAt(1, `"calendar_invitees":[{"email":"ann@x","matched_speaker_display_name":"Ann L"}]`))
	apply(t, a, shownAt(2, `"calendar_invitees":[{"email":"ann@x","matched_speaker_display_name":null}]`))
	for _, keys := range []string{`"title":"T","url":""`, `"title":"U"`} {
		o := shownAt(1, keys)
		o.RecordingID = 2
		apply(t, a, o)
	}
	// as an archive of the older rules is: only the newest list counts
	damageDatabase(t, a.db.Path, `DELETE FROM info WHERE name = 'merge_rules';
		UPDATE parts SET folded = NULL; UPDATE invitees SET matched_speaker_display_name = ''`)
	for opening, want := range [][]int64{{1}, nil} {
		before, _ := a.Head(t.Context())
		a.Close()
		a = openArchive(t, dir)
		changes, err := a.Changes(t.Context(), before, 10)
		var logged []int64
		for _, c := range changes {
			logged = append(logged, c.RecordingID)
		}
		if err != nil || !slices.Equal(logged, want) {
			t.Errorf("opening %d told of %v, %v; want %v", opening, logged, err, want)
		}
		m, err := a.Meeting(t.Context(), Viewer{All: true}, 1)
		if err != nil || m.CalendarInvitees[0].MatchedSpeakerDisplayName != api.Some("Ann L") {
			t.Errorf("opening %d: %+v, %v", opening, m, err)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("opening %d: %v", opening, damages)
		}
	}
}

// TestAnAddedKeyDoesNotFreezeAMeeting reads parts to which the service has added keys that other
// parts have: the later read counts, and so it does in an archive of older rules, for which such
// parts were empty.
func TestAnAddedKeyDoesNotFreezeAMeeting(t *testing.T) {
	dir := t.TempDir()
	a := openArchive(t, dir)
	for i, raw := range []string{
		`{"recording_id":1,"title":"Weekly","shared_with":"all_teams","recorded_by":{"name":"Ada","email":"ada@acme.example"},
			"transcript":[{"text":"Hi"}],"action_items":[{"description":"Send the offer"}],
			"highlights":[{"summary":"Too dear"}],"crm_matches":{"deals":[{"name":"Old"}]}}`,
		`{"recording_id":1,"title":"Renamed","shared_with":"no_teams","speaker":"Ada","recorded_by":{"name":"Kim","email":"kim@acme.example","speaker":true},
			"transcript":[{"text":"Hello","markdown_formatted":null}],"action_items":[{"description":"Send the offer","completed":true,"speaker":"Ada"}],
			"highlights":[{"summary":"Much too dear","speaker":"Ada"}],"crm_matches":{"deals":[{"name":"New","speaker":"Ada"}],"speaker":"Ada"}}`,
	} {
		o, err := FromMeeting("acme", SourceList, time.Unix(1e9+int64(i)*60, 0), []byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		apply(t, a, o)
	}
	check := func(when string) {
		t.Helper()
		m, err := a.Meeting(t.Context(), Viewer{All: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		row, err := a.Row(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{row.Title, m.SharedWith, row.RecordedBy.Name, m.Transcript.Or(nil)[0].Text, fmt.Sprint(m.ActionItems.Or(nil)[0].Completed),
			m.Highlights.Or(nil)[0].Summary.Or(""), m.CRMMatches.Or(api.CRMMatches{}).Deals.Or(nil)[0].Name.Or("")}
		if diff := cmp.Diff([]string{"Renamed", "no_teams", "Kim", "Hello", "true", "Much too dear", "New"}, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("%s: %v", when, damages)
		}
	}
	check("read")
	damageDatabase(t, a.db.Path, `UPDATE info SET value = '11' WHERE name = 'merge_rules';
		UPDATE revisions SET empty = 1 WHERE id > (SELECT count(*) / 2 FROM revisions);
		UPDATE parts SET revision_id = (SELECT min(id) FROM revisions r WHERE r.recording_id = parts.recording_id AND r.part = parts.part), folded = NULL`)
	a.Close()
	a = openArchive(t, dir)
	check("opened by newer rules")
}

// TestDecidingAgainSaysHowFar opens an archive of older rules with a hundred and twenty meetings
// of several versions: the log says how many are done, and how long the rest takes. Each look at
// the clock takes four seconds, so that every second one is more than five after the last report.
func TestDecidingAgainSaysHowFar(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := openArchive(t, dir)
	for id := range int64(120) {
		for _, title := range []string{`"title":"T","url":""`, `"title":"U"`} {
			o := shownAt(1, title)
			o.RecordingID = id + 1
			apply(t, a, o)
		}
	}
	a.Close()
	damageDatabase(t, a.db.Path, `DELETE FROM info WHERE name = 'merge_rules'`)
	var log bytes.Buffer
	var running time.Duration
	a, err := Open(t.Context(), Options{Dir: dir, Logger: zerolog.New(&log), Now: func() time.Time { return epoch0 },
		Running: func() time.Duration { running += 4 * time.Second; return running }})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	want := `{"level":"info","meetings":120,"message":"deciding again what meetings of several versions are: the rules are newer, or the accounts have changed"}
{"level":"info","done":100,"meetings":120,"remaining":2000,"message":"deciding again"}
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Error(diff)
	}
}

// TestARepairedNoticeIsNoContent repairs a version without content, which then replaces none.
func TestARepairedNoticeIsNoContent(t *testing.T) {
	a := newArchive(t)
	const content = `{"markdown_formatted":"# A"}`
	for i, raw := range []string{content, `{"status":"processing"}`} {
		apply(t, a, Observation{Account: "a", Source: SourceSummary, At: epoch0.Add(time.Duration(i) * time.Hour), RecordingID: 1,
			Parts: map[api.Part]json.RawMessage{api.PartSummary: json.RawMessage(raw)}})
	}
	damageDatabase(t, a.db.Path, `UPDATE revisions SET hash = x'00' WHERE empty`)
	verify(t, a, VerifyOptions{SkipMedia: true, Repair: true})
	if parts, err := a.PartsOf(t.Context(), 1); err != nil || string(parts[api.PartSummary]) != content {
		t.Errorf("after the repair: %s, %v", parts[api.PartSummary], err)
	}
}

// TestADamagedVersionHoldsUpNoOther reads a page with a meeting that has a damaged version: the
// rest of the page is kept, and the new version of that meeting counts after a repair.
func TestADamagedVersionHoldsUpNoOther(t *testing.T) {
	for _, accounts := range [][]string{{"ann"}, {"ann", "bob"}} {
		a := newArchive(t)
		read := func(hour int, id int64, team string) {
			t.Helper()
			var page []Observation
			for i, account := range accounts {
				page = append(page, listedMeeting(t, account, "", hour+i, id, "kim@acme.example", team, api.SharedAllTeams),
					listedMeeting(t, account, "", hour+i, 100+int64(hour), "kim@acme.example", team, api.SharedAllTeams))
			}
			apply(t, a, page...)
		}
		read(0, 1, "Sales")
		damageDatabase(t, a.db.Path, `UPDATE bodies SET encoding = 1, body = x'00' WHERE revision_id IN (SELECT id FROM revisions WHERE recording_id = 1)`)
		read(24, 1, "Trade")
		read(48, 1, "Law")
		if row, err := a.Row(t.Context(), 148); err != nil || row.RecordedBy.Team.Or("") != "Law" {
			t.Errorf("%v: the next meeting of the page: %+v, %v", accounts, row, err)
		}
		if row, err := a.Row(t.Context(), 1); err != nil || row.RecordedBy.Team.Or("") != "Sales" {
			t.Errorf("%v: before the repair: %+v, %v", accounts, row, err)
		}
		verify(t, a, VerifyOptions{SkipMedia: true, Repair: true})
		if row, err := a.Row(t.Context(), 1); err != nil || row.RecordedBy.Team.Or("") != "Law" {
			t.Errorf("%v: after the repair: %+v, %v", accounts, row, err)
		}
		if _, damages := verify(t, a, VerifyOptions{SkipMedia: true}); len(damages) != 0 {
			t.Errorf("%v: left are %v", accounts, damages)
		}
	}
}
