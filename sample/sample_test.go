package sample

import (
	"bufio"
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/rawjson"
	"minutebook/internal/testrun"
)

// decoded returns every meeting as the api types read it.
func decoded(t *testing.T, base time.Time) []*api.Meeting {
	t.Helper()
	var all []*api.Meeting
	for _, raw := range Meetings(base) {
		m := &api.Meeting{}
		if err := json.Unmarshal(raw, m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// The api types read leniently: a member that they misread they would not write again.
func TestEveryKeyIsReadAsWhatItIs(t *testing.T) {
	testrun.SkipUnderRace(t)
	for i, m := range decoded(t, Base()) {
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if !rawjson.Equal(again, All()[i]) || len(m.Extra) > 0 {
			t.Errorf("%s: the api types do not read all of it", m.Title)
		}
	}
}

func TestAHalfYearOfMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	base := time.Date(2027, time.January, 13, 22, 0, 0, 0, time.UTC)
	all := decoded(t, base)
	if len(all) < 24 {
		t.Fatalf("%d meetings, want 24 or more", len(all))
	}
	seen := map[string]map[string]bool{"id": {}, "url": {}, "share": {}, "title": {}}
	for i, m := range all {
		start, end := m.RecordingStartTime.Time, m.RecordingEndTime.Time
		if i > 0 && start.Before(all[i-1].RecordingStartTime.Time) {
			t.Errorf("%s: before the one before it", m.Title)
		}
		if start.Weekday() == time.Saturday || start.Weekday() == time.Sunday {
			t.Errorf("%s: on a %s", m.Title, start.Weekday())
		}
		if d := end.Sub(start); d < 12*time.Minute || d > RecordingLength {
			t.Errorf("%s: takes %s", m.Title, d)
		}
		if !m.CreatedAt.After(end) || !m.ScheduledEndTime.After(m.ScheduledStartTime.Time) {
			t.Errorf("%s: its times contradict each other", m.Title)
		}
		for kind, v := range map[string]string{"id": strconv.FormatInt(m.RecordingID, 10), "url": m.URL, "share": m.ShareURL, "title": m.Title} {
			if seen[kind][v] {
				t.Errorf("%s: has the %s of another", m.Title, kind)
			}
			seen[kind][v] = true
		}
	}
	first, last := all[0].RecordingStartTime, all[len(all)-1].RecordingEndTime
	if d := base.Sub(first.Time).Hours() / 24; d < 175 || d > 190 {
		t.Errorf("the first is %.0f days before the base date", d)
	}
	if d := base.Sub(last.Time).Hours() / 24; d < 2 || d > 10 {
		t.Errorf("the last is %.0f days before the base date", d)
	}
}

func TestSpread(t *testing.T) {
	testrun.SkipUnderRace(t)
	count := map[string]int{}
	domains := map[string]bool{}
	for _, m := range decoded(t, Base()) {
		count["language "+m.TranscriptLanguage]++
		count["shared "+m.SharedWith]++
		count["domains "+m.CalendarInviteesDomainsType]++
		count["type "+m.MeetingType.Or("")]++
		count["team "+m.RecordedBy.Team.Or("none")]++
		if m.RecordedBy.EmailDomain != Domain {
			count["outside"]++
		}
		if _, ok := m.CRMMatches.Get(); ok {
			count["crm"]++
		}
		for _, in := range m.CalendarInvitees {
			domains[in.EmailDomain.Or("")] = true
			if in.IsExternal != (in.EmailDomain.Or("") != Domain) {
				t.Errorf("%s: %s is on the wrong side", m.Title, in.Email.Or(""))
			}
		}
	}
	for what, minimum := range map[string]int{
		"language de": 1, "language es": 1, "language ja": 1, "language en": 20, "crm": 3, "outside": 3,
		"shared no_teams": 2, "shared single_team": 2, "shared multiple_teams": 2, "shared all_teams": 2,
		"domains only_internal": 5, "domains one_or_more_external": 5, "team Firmware": 1, "team Platform": 1, "team Sales": 1} {
		if count[what] < minimum {
			t.Errorf("%s: %d, want %d or more", what, count[what], minimum)
		}
	}
	if len(domains) < 6 {
		t.Errorf("%d domains of invitees", len(domains))
	}
	for _, typ := range Directory().Types {
		if typ.Active && count["type "+typ.Name] == 0 {
			t.Errorf("no meeting is a %s", typ.Name)
		}
	}
}

func TestSameBaseSameBytes(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, b := All(), Meetings(Base().Add(17*time.Hour))
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			t.Errorf("meeting %d differs between two calls for one day", i)
		}
	}
	if bytes.Equal(a[0], Meetings(Base().AddDate(0, 0, 7))[0]) {
		t.Error("another base date moved nothing")
	}
	lines := bufio.NewScanner(NDJSON(time.Time{}))
	lines.Buffer(nil, 1<<20)
	var n int
	for ; lines.Scan(); n++ {
		if !bytes.Equal(lines.Bytes(), a[n]) {
			t.Errorf("line %d is not meeting %d", n+1, n)
		}
	}
	if n != len(a) {
		t.Errorf("%d lines for %d meetings", n, len(a))
	}
}

func TestDirectoryHoldsEveryRecorderInside(t *testing.T) {
	testrun.SkipUnderRace(t)
	c := Directory()
	for _, m := range decoded(t, Base()) {
		if m.RecordedBy.EmailDomain != Domain {
			continue
		}
		ok := slices.ContainsFunc(c.People, func(p Person) bool {
			return p.Email == m.RecordedBy.Email && p.Team == m.RecordedBy.Team.Or("") && p.Status == "active"
		})
		if !ok || !slices.ContainsFunc(c.Teams, func(x Team) bool { return x.Name == m.RecordedBy.Team.Or("") }) {
			t.Errorf("%s: nobody at work is %s", m.Title, m.RecordedBy.Email)
		}
	}
	for _, p := range c.People {
		if strings.ContainsFunc(p.Email, func(r rune) bool { return r > 'z' || r == ' ' }) {
			t.Errorf("%s has the address %s", p.Name, p.Email)
		}
	}
}
