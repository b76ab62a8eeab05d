package archive

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// entriesPerMeeting is the corpus's mean.
const entriesPerMeeting = 300

// meetings makes observations of distinct whole meetings, the same for the same
// seed. Words are drawn by a steep distribution over a made-up vocabulary, so
// that they compress about as speech does.
func meetings(seed uint64, from, n int) ([]archive.Observation, error) {
	r := rand.New(rand.NewPCG(seed, uint64(from)))
	zipf := rand.NewZipf(r, 1.15, 3, 9999)
	words := vocabulary()
	say := func(least, most int) string {
		var b strings.Builder
		for i := range least + r.IntN(most-least+1) {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[zipf.Uint64()])
		}
		return b.String()
	}
	batch := make([]archive.Observation, 0, n)
	for i := range n {
		raw, err := json.Marshal(meeting(int64(from+i+1), say, r))
		if err != nil {
			return nil, err
		}
		o, err := archive.FromMeeting("bench", archive.SourceList, start, raw)
		if err != nil {
			return nil, err
		}
		batch = append(batch, o)
	}
	return batch, nil
}

var start = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)

func vocabulary() []string {
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 10_000)
	for i := range words {
		b := make([]byte, 1+r.IntN(3)+i/2500+i%4)
		for j := range b {
			b[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(r.IntN(26), r.IntN(26))]
		}
		words[i] = string(b)
	}
	return words
}

// meeting is one meeting of an hour with six people.
func meeting(id int64, say func(int, int) string, r *rand.Rand) api.Meeting {
	at := start.Add(time.Duration(id) * 37 * time.Minute)
	m := api.Meeting{
		Title: say(3, 6), RecordingID: id,
		URL: fmt.Sprintf("https://meet.example/calls/%d", id+1e9), ShareURL: fmt.Sprintf("https://meet.example/share/%x", id*7919),
		MeetingTitle: api.Some(say(3, 6)), MeetingType: api.Some("Planning"),
		CreatedAt: api.TimeOf(at.Add(time.Hour)), ScheduledStartTime: api.TimeOf(at), ScheduledEndTime: api.TimeOf(at.Add(time.Hour)),
		RecordingStartTime: api.TimeOf(at), RecordingEndTime: api.TimeOf(at.Add(time.Hour)),
		CalendarInviteesDomainsType: api.DomainsExternal, SharedWith: api.SharedSingleTeam, TranscriptLanguage: "en",
	}
	for range 6 {
		n := r.IntN(400)
		m.CalendarInvitees = append(m.CalendarInvitees, api.Invitee{Name: api.Some(fmt.Sprintf("Person %d", n)),
			Email: api.Some(fmt.Sprintf("person%d@company.example", n)), EmailDomain: api.Some("company.example")})
	}
	first := m.CalendarInvitees[0]
	m.RecordedBy = api.Recorder{Name: first.Name.Or(""), Email: first.Email.Or(""), EmailDomain: "company.example", Team: api.Some("Team")}
	entries := make([]api.TranscriptEntry, entriesPerMeeting)
	for i := range entries {
		who := m.CalendarInvitees[r.IntN(6)]
		entries[i] = api.TranscriptEntry{
			Speaker: api.Speaker{DisplayName: who.Name.Or(""), MatchedCalendarInviteeEmail: who.Email},
			Text:    say(2, 38), Timestamp: api.FormatOffset(time.Duration(i*12) * time.Second)}
	}
	m.Transcript = api.Some(entries)
	m.DefaultSummary = api.Some(api.Summary{TemplateName: api.Some("General"), MarkdownFormatted: api.Some("## Summary\n\n" + say(100, 300))})
	m.ActionItems = api.Some([]api.ActionItem{{Description: say(5, 15), RecordingTimestamp: "00:10:00"}})
	m.Highlights = api.Some([]api.Highlight{{Type: "Decision", Summary: api.Some(say(8, 20)), StartTime: 60, EndTime: 90}})
	return m
}
