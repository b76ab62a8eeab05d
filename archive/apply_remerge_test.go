package archive

import (
	"bytes"
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
