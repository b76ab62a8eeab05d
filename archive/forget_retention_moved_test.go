package archive

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"minutebook/internal/testrun"
)

// showAs shows meeting 1 of agedArchive with another team and type, at a time.
func showAs(t *testing.T, a *Archive, account, team, kind string, at time.Time) {
	t.Helper()
	o := observe(t, SourceList, at, fmt.Appendf(nil, `{"recording_id":1,"title":"T","meeting_type":%q,"recording_start_time":"2026-01-01T00:00:00Z",
		"recorded_by":{"name":"A","email":"a@x.example","team":%q}}`, kind, team))
	o.Account, o.Order = account, a.NextOrder()
	apply(t, a, o)
}

// TestMeetingsThatMoveWait has rules in force that keep the recording of meeting 1, which
// is of the team Sales and a Call, until the service shows it otherwise.
func TestMeetingsThatMoveWait(t *testing.T) {
	testrun.SkipUnderRace(t)
	type step struct {
		after      time.Duration
		off, clock time.Duration // before it: no process ran, the clock was set
		team, kind string        // as shown now; no kind: it is not shown
		account    string        // "": that of observe
		accept     bool
		want       string
		moved      int
		age        time.Duration // in the first step: how long the other rule keeps recordings; 0: 100 days
	}
	for name, story := range map[string][]step{
		"a team is renamed":         {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: 6 * day, team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: day, want: "[1]"}},
		"a type is renamed":         {{team: "Sales", kind: "Talk", want: "[]", moved: 1}, {after: 7 * day, want: "[1]"}},
		"it is accepted":            {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: time.Hour, accept: true, want: "[1]"}},
		"another change after that": {{after: time.Hour, accept: true, want: "[]"}, {after: time.Hour, team: "Trade", kind: "Call", want: "[]", moved: 1}},
		"it is set right":           {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: day, team: "Sales", kind: "Call", want: "[]"}, {after: 30 * day, want: "[]"}},
		"there and back and there": {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: day, team: "Sales", kind: "Call", want: "[]"},
			{after: 30 * day, team: "Sales", kind: "Call", want: "[]"}, {after: day, team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: 7 * day, want: "[1]"}},
		"there and back and there, unwatched for long": {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: day, team: "Sales", kind: "Call", want: "[]"},
			{after: 30 * day, team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: 6 * day, team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: day, want: "[1]"}},
		"another account shows another team": {{team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1}, {after: 6 * day, want: "[]", moved: 1}, {after: day, want: "[1]"}},
		"two accounts show different teams for good": {{team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1},
			{after: 5 * day, team: "Sales", kind: "Call", want: "[]"}, {after: 5 * day, team: "Trade", kind: "Call", account: "other", want: "[]"}},
		"another account's team comes back": {{team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: day, team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1},
			{after: day, team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: 8 * day, want: "[]"}},
		"another account's team comes back and goes": {{team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: day, team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1},
			{after: day, team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: 20 * day, want: "[]"},
			{after: day, team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1}, {after: 6 * day, want: "[]", moved: 1}, {after: day, want: "[1]"}},
		"another account's team goes again and is accepted": {{team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: day, team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1},
			{after: day, team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: day, accept: true, want: "[]"},
			{after: 20 * day, team: "Trade", kind: "Call", account: "other", want: "[]", moved: 1}, {after: day, accept: true, want: "[1]"}},
		"another account's team comes back and goes while the meeting is young": {{team: "Trade", kind: "Call", account: "other", want: "[]", age: 155 * day},
			{after: day, team: "Sales", kind: "Call", account: "other", want: "[]"}, {after: day, team: "Trade", kind: "Call", account: "other", want: "[]"},
			{after: 6 * day, want: "[2]", moved: 1}, {after: day, want: "[1]"}},
		"a team that comes and goes": {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {after: 5 * day, team: "", kind: "Call", want: "[]", moved: 1}, {after: 5 * day, team: "Trade", kind: "Call", want: "[1]"}},
		"no process runs for a week": {{team: "Trade", kind: "Call", want: "[]", moved: 1}, {off: 8 * day, want: "[]", moved: 1}, {after: 6 * day, want: "[]", moved: 1}, {after: day, want: "[1]"}},
		"a clock that was behind":    {{clock: -20 * day, team: "Trade", kind: "Call", want: "[]", moved: 1}, {clock: 20 * day, want: "[]", moved: 1}, {after: 7 * day, want: "[1]"}},
		"a clock that is ahead":      {{clock: 20 * day, team: "Trade", kind: "Call", want: "[]", moved: 1}, {clock: -20 * day, want: "[]", moved: 1}, {after: 7 * day, want: "[1]"}},
		"the letters' case":          {{team: "SALES", kind: "Call", want: "[]"}, {after: 9 * day, want: "[]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, now := agedArchive(t)
			rules := []RetentionRule{{Teams: []string{"Sales"}, Types: []string{"Call"}}, {MediaAfter: cmp.Or(story[0].age, 100*day)}}
			var running time.Duration
			a.running = func() time.Duration { return running }
			must(t, a.AcceptRetention(t.Context(), rules))
			if _, err := a.DeleteExpired(t.Context(), rules, func(Expired) {}); err != nil { // 2
				t.Fatal(err)
			}
			showAs(t, a, "main", "Sales", "Call", *now)
			for i, s := range story {
				running += s.after + time.Minute
				*now = now.Add(s.after + time.Minute + s.off + s.clock)
				if s.off > 0 {
					a.clockRead, running = -1, 0
				}
				if s.kind != "" {
					showAs(t, a, cmp.Or(s.account, "main"), s.team, s.kind, *now)
				}
				if s.accept {
					must(t, a.AcceptRetention(t.Context(), rules))
				}
				a.NoteServiceTime(*now)
				ids := []int64{}
				_, err := a.DeleteExpired(t.Context(), rules, func(e Expired) { ids = append(ids, e.RecordingID) })
				if got := fmt.Sprint(ids); err != nil || got != s.want {
					t.Errorf("step %d: %s deleted, want %s, %v", i, got, s.want, err)
				}
				h, err := a.ShowRetention(t.Context(), rules)
				if err != nil || (h.Moved != nil) != (s.moved > 0) || s.moved > 0 && (h.Moved.Meetings != s.moved || h.Moved.Recordings != 1) {
					t.Errorf("step %d: status shows %+v, %v", i, h.Moved, err)
				}
			}
		})
	}
}

// TestRulesThatWaitNoteWhatReadsKeep has a meeting that only its newest reads keep, as a former
// team has come back to an account. They keep it no more while the rules wait for their first
// day, as they do after a restore.
func TestRulesThatWaitNoteWhatReadsKeep(t *testing.T) {
	a, now := agedArchive(t)
	var running time.Duration
	a.running = func() time.Duration { return running }
	for _, s := range []struct{ account, team string }{{"main", "Sales"}, {"other", "Sales"}, {"other", "Trade"}, {"other", "Sales"}} {
		*now = now.Add(time.Hour)
		showAs(t, a, s.account, s.team, "Call", *now)
	}
	rules := []RetentionRule{{Teams: []string{"Sales"}}, {MediaAfter: 100 * day}}
	run := func(after time.Duration, want string) {
		t.Helper()
		running += after
		*now = now.Add(after)
		a.NoteServiceTime(*now)
		_, err := a.ShowRetention(t.Context(), rules)
		must(t, err)
		ids := []int64{}
		if _, err = a.DeleteExpired(t.Context(), rules, func(e Expired) { ids = append(ids, e.RecordingID) }); err != nil || fmt.Sprint(ids) != want {
			t.Errorf("after %s %v are deleted, want %s, %v", running, ids, want, err)
		}
	}
	run(0, "[]")
	showAs(t, a, "other", "Trade", "Call", now.Add(time.Minute))
	run(time.Hour, "[]")
	run(day, "[2]")
	run(5*day, "[]")
	run(day, "[1]")
}

// TestAnEmptyTeamIsNoMove has a rule that deletes from one team, and a list and a webhook of
// which one shows no team, again and again.
func TestAnEmptyTeamIsNoMove(t *testing.T) {
	a, now := agedArchive(t)
	rules := []RetentionRule{{MediaAfter: 100 * day, Teams: []string{"Sales"}}}
	must(t, a.AcceptRetention(t.Context(), rules))
	for range 3 {
		*now = now.Add(time.Hour)
		showAs(t, a, "main", "", "Call", *now)
		*now = now.Add(time.Hour)
		showAs(t, a, "main", "Sales", "Call", *now)
	}
	if _, err := a.DeleteExpired(t.Context(), rules, func(Expired) {}); err != nil || a.MovedMeetings() != nil {
		t.Errorf("%+v waits, %v", a.MovedMeetings(), err)
	}
}

// TestAMeetingOfAnotherDateWaits has a rule without names, and meetings 3 and 4, which the
// service shows twenty years too old. A version of 4 cannot be read. Another process, which has
// not applied the rules, knows of both.
func TestAMeetingOfAnotherDateWaits(t *testing.T) {
	a, now := agedArchive(t)
	rules := []RetentionRule{{MediaAfter: 100 * day}}
	must(t, a.AcceptRetention(t.Context(), rules))
	var deleted []int64
	run := func() {
		t.Helper()
		_, err := a.DeleteExpired(t.Context(), rules, func(e Expired) { deleted = append(deleted, e.RecordingID) })
		must(t, err)
	}
	run()
	for id := int64(3); id < 5; id++ {
		o := observe(t, SourceList, *now, fmt.Appendf(nil, `{"recording_id":%d,"recording_start_time":"2006-05-30T00:00:00Z"}`, id))
		o.Order = a.NextOrder()
		apply(t, a, o)
	}
	_, err := a.db.W.Exec(`UPDATE bodies SET encoding = 1, body = x'00' WHERE revision_id = (SELECT min(id) FROM revisions WHERE recording_id = 4 AND part = 'meeting')`)
	must(t, err)
	run()
	a.moved.Store(nil)
	h, err := a.ShowRetention(t.Context(), rules)
	if err != nil || h.Moved == nil || h.Moved.Meetings != 2 || h.Moved.From.Before(now.Add(movedNotice)) {
		t.Errorf("status shows %+v, %v", h.Moved, err)
	}
	*now = now.Add(movedNotice)
	a.NoteServiceTime(*now)
	run()
	if diff := gocmp.Diff([]int64{1, 2, 5, 3, 4}, deleted); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownNamesAreReported has rules with names that are near to those of meetings.
func TestUnknownNamesAreReported(t *testing.T) {
	a, _ := agedArchive(t)
	rules := []RetentionRule{{Teams: []string{"sales", "Opps", "Board"}}, {MediaAfter: day, Types: []string{"Calls"}}, {MediaAfter: day}}
	h, err := a.ShowRetention(t.Context(), rules)
	if diff := gocmp.Diff([]UnknownName{{1, "team", "Opps", "Ops"}, {1, "team", "Board", ""}, {2, "meeting type", "Calls", "Call"}}, h.UnknownNames); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if h, err := newArchive(t).ShowRetention(t.Context(), rules); err != nil || h.UnknownNames != nil {
		t.Errorf("of an empty archive: %+v, %v", h.UnknownNames, err)
	}
}
