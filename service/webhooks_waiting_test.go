package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// hookFor registers a webhook of ann's for one scope, and returns its id.
func (s *sandbox) hookFor(scope string) string {
	s.t.Helper()
	hook := webhook{email: "ann@acme.example", url: "https://hooks.example/", createdAt: testStart, triggers: []string{scope}}
	if err := s.store.putWebhook(s.t.Context(), &hook); err != nil {
		s.t.Fatal(err)
	}
	return hook.id
}

// sharedBy is a new meeting of a person of Support's that is shared as shared_with says.
func sharedBy(name string, id int, sharedWith string) string {
	return newer(id, append(recordedBy(name, "Support"), "shared_with", `"`+sharedWith+`"`)...)
}

// A webhook whose owner has no status when a meeting is finalised, as for a night in which a list
// could not be read, is decided when the owner has one again, by the rights of that moment.
func TestAWebhookWaitsForTheStatusOfItsOwner(t *testing.T) {
	const cy = "cy@acme.example"
	for name, c := range map[string]struct {
		status string // meanwhile; "": nobody is known by the address
		after  time.Duration
		shared string // at first
		then   string // shared so when the owner is back, if not ""
		want   string
	}{
		"at once":           {"", 0, api.SharedAllTeams, "", "1 2"},
		"the next day":      {"", 20 * time.Hour, api.SharedAllTeams, "", "1 2"},
		"by a team":         {"", 20 * time.Hour, api.SharedSingleTeam, "", "1 2"},
		"after three days":  {"", 72 * time.Hour, api.SharedAllTeams, "", "1"},
		"invited":           {api.StatusInvited, 20 * time.Hour, api.SharedAllTeams, "", "1 2"},
		"deactivated":       {api.StatusDeactivated, 20 * time.Hour, api.SharedAllTeams, "", "1"},
		"private meanwhile": {"", 20 * time.Hour, api.SharedAllTeams, api.SharedNoTeams, "1"},
		"private at first":  {"", 20 * time.Hour, api.SharedNoTeams, api.SharedAllTeams, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, a := newOverlay(t)
			directory := func(status string) {
				t.Helper()
				var members []api.TeamMember
				users := []api.User{{Email: "ann@acme.example", Status: api.StatusActive}}
				if status != "" {
					members, users = []api.TeamMember{{Email: cy}}, append(users, api.User{Email: cy, Status: status})
				}
				err := a.PutTeams(t.Context(), "anns", []api.Team{{Name: "Support"}}, archive.TeamMembers{Team: "Support", Members: members})
				if err == nil {
					err = a.PutUsers(t.Context(), "anns", users)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			directory(api.StatusActive)
			s.hookOf(cy)
			arrive(t, a, archive.SourceList, sharedBy("bob", 1, api.SharedAllTeams))
			s.caughtUp(t)
			directory(c.status)
			arrive(t, a, archive.SourceList, sharedBy("bob", 2, c.shared))
			r := newRelay(s.Service)
			for range int(c.after / (10 * time.Hour)) {
				s.step(t, r)
				s.clock.add(10 * time.Hour)
			}
			s.step(t, r)
			if got := s.queued(); got != "1" {
				t.Errorf("meanwhile: sent %q", got)
			}
			if c.then != "" {
				arriveAt(t, a, "anns", archive.SourceList, testStart.Add(time.Minute), sharedBy("bob", 2, c.then))
				s.step(t, r)
			}
			directory(api.StatusActive)
			s.step(t, r)
			if got := s.queued(); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
		})
	}
}

// Who recorded a meeting that only a list by team shows is not known to be outside before a plain
// list can have shown it: a webhook waits for that, for an hour, and then is decided.
func TestAFirstMeetingIsNotTakenForOneOutside(t *testing.T) {
	s, a := newOverlay(t)
	internal, external := s.hookFor(api.TriggerSharedTeam), s.hookFor(api.TriggerSharedExternal)
	own := s.hookFor(api.TriggerMyRecordings)
	if err := a.NoteListRead(t.Context(), "anns", "teams:x", testStart); err != nil {
		t.Fatal(err)
	}
	arrive(t, a, archive.SourceList, meeting(9, recordedBy("bob", "Support")...))
	r := newRelay(s.Service)
	expect := func(when string, want ...string) {
		t.Helper()
		s.step(t, r)
		list, err := s.Deliveries(t.Context(), "", 100)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, d := range list {
			got = append(got, itoa(d.RecordingID)+" "+d.Webhook)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: queued %q, want %q", when, got, want)
		}
	}
	byTeam := func(name string, id int) {
		t.Helper()
		arriveBy(t, a, "anns", "teams:x", archive.SourceList, s.clock.Now(), sharedBy(name, id, api.SharedAllTeams))
	}
	arrive(t, a, archive.SourceWebhook, sharedBy("kim", 1, api.SharedAllTeams))
	expect("delivered")
	byTeam("kim", 1)
	byTeam("zoe", 2)
	byTeam("ann", 3)
	want := []string{"3 " + own}
	expect("listed by team", want...)
	arrive(t, a, archive.SourceList, sharedBy("kim", 1, api.SharedAllTeams))
	want = append(want, "1 "+internal)
	expect("in the plain list", want...)
	if wait, err := r.untilUndecided(t.Context()); err != nil || wait != lookEvery {
		t.Errorf("the relay waits for %s, want a minute: %v", wait, err)
	}
	s.clock.add(undecidedFor)
	want = append(want, "2 "+external)
	expect("after an hour", want...)
	s.clock.add(time.Minute)
	byTeam("zoe", 4)
	want = append(want, "4 "+external)
	expect("of a recorder who was listed an hour ago", want...)
}

// The relay needs no change of the archive to decide meetings that have waited for an hour.
func TestWaitingEndsWithoutAChange(t *testing.T) {
	s, a := newOverlay(t)
	s.hookOf("ann@acme.example")
	arrive(t, a, archive.SourceList, meeting(9, recordedBy("bob", "Support")...))
	arriveBy(t, a, "anns", "recorded_by:x", archive.SourceList, testStart, sharedBy("zoe", 1, api.SharedAllTeams))
	s.caughtUp(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, r := range []*relay{newRelay(s.Service), newRelay(s.Service)} { // the second one has just started
		s.clock.add(undecidedFor)
		if err := r.waitAndStep(ctx, followedEvery); err != nil {
			t.Fatal(err)
		}
		if got := s.queued(); got != "1" {
			t.Errorf("sent %q, want 1", got)
		}
		if err := s.store.db.WriteTx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(`DELETE FROM deliveries`)
			return errors.Join(err, noteUndecided(t.Context(), tx, 1, s.clock.Now().Add(undecidedFor), true))
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// A list that shows a meeting while the relay decides about it is not overlooked.
func TestAListThatComesDuringTheDecisionCounts(t *testing.T) {
	s, a := newOverlay(t)
	s.hookOf("ann@acme.example")
	arrive(t, a, archive.SourceList, meeting(9, recordedBy("bob", "Support")...))
	now := s.now
	for i := range 7 {
		arrive(t, a, archive.SourceWebhook, delivered(i+1))
		asked := 0
		s.Service.now = func() time.Time {
			if asked++; asked == i+1 { // at different moments of the step
				arrive(t, a, archive.SourceList, delivered(i+1))
			}
			return now()
		}
		s.step(t, newRelay(s.Service))
		s.Service.now = now
		s.caughtUp(t)
	}
	if got, want := s.queued(), "1 2 3 4 5 6 7"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// A meeting that was listed before it was processed gets its summary by a call of its own. Its
// webhook waits for the parts that it includes, which the next list or another call shows, and
// is sent after an hour with the parts that have come.
func TestAWebhookWaitsForThePartsThatItIncludes(t *testing.T) {
	const tasks = `[{"description":"Send the offer","user_generated":false,"completed":false,"recording_timestamp":"00:00:01","recording_playback_url":"https://x.example/","assignee":null}]`
	none := []string{"transcript", "null", "default_summary", "null", "action_items", "null", "highlights", "null", "crm_matches", "null"}
	for name, c := range map[string]struct {
		includes   []api.Part
		transcript bool     // comes, after the summary
		list       []string // comes at last; nil: no list
		after      time.Duration
		early      bool // sent before all that
		want       []string
	}{
		"summary alone":     {includes: []api.Part{api.PartSummary}, early: true, want: []string{"# Summary"}},
		"action items":      {[]api.Part{api.PartActionItems}, false, append(slices.Clone(none), "action_items", tasks), 0, false, []string{"Send the offer"}},
		"none listed":       {[]api.Part{api.PartActionItems, api.PartHighlights, api.PartCRM}, false, none, lookEvery, false, []string{`"action_items":null`}},
		"transcript":        {[]api.Part{api.PartTranscript}, true, nil, 0, false, []string{"Hello"}},
		"both":              {[]api.Part{api.PartTranscript, api.PartActionItems}, true, append(slices.Clone(none), "action_items", tasks), 0, false, []string{"Hello", "Send the offer"}},
		"no transcript":     {[]api.Part{api.PartTranscript}, false, none, lookEvery, false, nil},
		"nor in a list":     {[]api.Part{api.PartTranscript}, false, []string{"transcript", "null"}, lookEvery, false, []string{`"transcript":null`}},
		"after an hour":     {[]api.Part{api.PartTranscript, api.PartActionItems}, false, nil, undecidedFor, false, []string{`"action_items":null`}},
		"not after a while": {[]api.Part{api.PartTranscript, api.PartActionItems}, false, nil, undecidedFor - lookEvery, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, a := newOverlay(t)
			if err := s.store.putWebhook(t.Context(), &webhook{email: "ann@acme.example", url: "https://hooks.example/", createdAt: testStart,
				triggers: []string{api.TriggerMyRecordings}, includes: c.includes}); err != nil {
				t.Fatal(err)
			}
			body := func() (body string) {
				t.Helper()
				if err := s.store.db.R.QueryRowContext(t.Context(), `SELECT coalesce(max(body), '') FROM deliveries`).Scan(&body); err != nil {
					t.Fatal(err)
				}
				return body
			}
			at := testStart.Add(4 * time.Hour)
			show := func(src archive.Source, parts ...string) {
				t.Helper()
				at = at.Add(time.Minute)
				arriveAt(t, a, "anns", src, at, newer(4, parts...))
			}
			read := func(src archive.Source, part api.Part) {
				t.Helper()
				o, err := archive.FromMeeting("anns", src, at.Add(time.Minute), []byte(newer(4)))
				if err == nil {
					o.Parts = map[api.Part]json.RawMessage{part: o.Parts[part]}
					_, err = a.Apply(t.Context(), []archive.Observation{o})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			arrive(t, a, archive.SourceList, meeting(1))
			show(archive.SourceList, none...)
			read(archive.SourceSummary, api.PartSummary)
			at = at.Add(time.Minute)
			r := newRelay(s.Service)
			s.step(t, r)
			if got := body(); (got != "") != c.early {
				t.Errorf("at first: queued %q", got)
			}
			if c.transcript {
				read(archive.SourceTranscript, api.PartTranscript)
			}
			if c.list != nil {
				show(archive.SourceList, c.list...)
			}
			s.clock.add(c.after)
			s.step(t, r)
			got := body()
			if (got != "") != (c.want != nil) || slices.ContainsFunc(c.want, func(part string) bool { return !strings.Contains(got, part) }) {
				t.Errorf("queued %q, want %q in it", got, c.want)
			}
		})
	}
}
