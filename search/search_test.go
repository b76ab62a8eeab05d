package search

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
)

// everyone is the owner of the archive.
var everyone = archive.Viewer{All: true}

var testNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// utterance is an entry of a test meeting.
type utterance struct {
	at      int // seconds
	speaker string
	text    string
}

// meeting is a meeting of a test, in the service's JSON.
func meeting(id int64, title, lang string, start time.Time, lines []utterance, more map[string]any) []byte {
	var transcript []map[string]any
	for _, l := range lines {
		transcript = append(transcript, map[string]any{
			"speaker":   map[string]any{"display_name": l.speaker, "matched_calendar_invitee_email": strings.ToLower(strings.Fields(l.speaker)[0]) + "@own.example"},
			"text":      l.text,
			"timestamp": api.FormatOffset(time.Duration(l.at) * time.Second),
		})
	}
	m := map[string]any{
		"recording_id": id, "title": title, "meeting_title": title, "transcript_language": lang,
		"recording_start_time": start.Format(time.RFC3339), "recording_end_time": start.Add(45 * time.Minute).Format(time.RFC3339),
		"created_at": start.Add(46 * time.Minute).Format(time.RFC3339), "url": "https://meet.example/calls/1",
		"calendar_invitees_domains_type": "only_internal", "shared_with": "no_teams", "meeting_type": "Sales call",
		"recorded_by":       map[string]any{"name": "Anna Lee", "email": "anna@own.example", "email_domain": "own.example", "team": "Sales"},
		"calendar_invitees": []any{},
		"transcript":        transcript,
	}
	for k, v := range more {
		m[k] = v
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

// fixture is an archive and its index in a test's folder.
type fixture struct {
	t       testing.TB
	dir     string
	archive *archive.Archive
	index   *Index
}

func newFixture(t testing.TB) *fixture {
	h := &fixture{t: t, dir: archivetest.Dir(t)}
	h.open()
	t.Cleanup(h.close)
	return h
}

func (h *fixture) open() {
	ctx := context.Background()
	var err error
	h.archive, err = archive.Open(ctx, archive.Options{Dir: h.dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.index, err = Open(ctx, Options{Archive: h.archive, Logger: zerolog.Nop(), Now: func() time.Time { return testNow }})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) close() {
	if err := h.index.Close(); err != nil {
		h.t.Error(err)
	}
	if err := h.archive.Close(); err != nil {
		h.t.Error(err)
	}
}

// add applies meetings to the archive as read from the account "main".
func (h *fixture) add(raws ...[]byte) {
	h.t.Helper()
	walk, err := h.archive.LatestWalk(context.Background(), "main", "")
	if err != nil {
		h.t.Fatal(err)
	}
	var batch []archive.Observation
	for _, raw := range raws {
		o, err := archive.FromMeeting("main", archive.SourceList, time.Now(), raw)
		if err != nil {
			h.t.Fatal(err)
		}
		o.Walk = walk
		batch = append(batch, o)
	}
	if _, err := h.archive.Apply(context.Background(), batch); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) catchUp() {
	h.t.Helper()
	if err := h.index.CatchUp(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *fixture) search(r Request) *Answer {
	h.t.Helper()
	if !r.Viewer.All && len(r.Viewer.Emails) == 0 {
		r.Viewer.All = true
	}
	a, err := h.index.Search(context.Background(), r)
	if err != nil {
		h.t.Fatalf("search %q: %v", r.Query, err)
	}
	return a
}

// hitIDs are the meetings of an answer, in order.
func hitIDs(a *Answer) string {
	var out []string
	for _, h := range a.Meetings {
		out = append(out, fmt.Sprint(h.Row.RecordingID))
	}
	return strings.Join(out, " ")
}

// markHits is a snippet with its hits in brackets.
func markHits(s []Span) string {
	var b strings.Builder
	for _, p := range s {
		if p.Hit {
			b.WriteString("[" + p.Text + "]")
			continue
		}
		b.WriteString(p.Text)
	}
	return b.String()
}

func day(d int) time.Time { return time.Date(2026, 5, d, 9, 0, 0, 0, time.UTC) }

// threeMeetings are enough to tell most queries apart.
func threeMeetings() [][]byte {
	return [][]byte{
		meeting(1, "Budget review", "en", day(1), []utterance{
			{0, "Anna Lee", "Let's begin with the budget for marketing."},
			{30, "Bob Stone", "The budgets were cut, ticket ABC-123 has the numbers."},
			{95, "Anna Lee", "Nothing more about that. On to the e-mail campaign."},
			{180, "Bob Stone", "We renewed the contract with the printing company."},
		}, map[string]any{"default_summary": map[string]any{"template_name": "General", "markdown_formatted": "## Summary\n\nThe marketing budget was discussed.\n"},
			"action_items": []any{map[string]any{"description": "Send the revised forecast", "completed": false, "user_generated": false,
				"recording_timestamp": "00:01:40", "recording_playback_url": "https://x.example", "assignee": map[string]any{"name": "Bob Stone", "email": "bob@own.example", "team": "Sales"}}}}),
		meeting(2, "Weekly", "en", day(10), []utterance{
			{0, "Cara Díaz", "Good morning everybody, how are you?"},
			{20, "Bob Stone", "The release is on Friday, Zoë will call O'Brien."},
			{130, "Cara Díaz", "Marketing wants a new page."},
		}, map[string]any{"meeting_type": "Standup", "shared_with": "all_teams", "calendar_invitees_domains_type": "one_or_more_external",
			"calendar_invitees": []any{map[string]any{"name": "Zoë Park", "email": "zoe@client.example", "email_domain": "client.example", "is_external": true}}}),
		meeting(3, "Besprechung", "de", day(20), []utterance{
			{0, "Dora Kühn", "Guten Morgen, heute geht es um die Häuser und die Verträge."},
			{70, "Anna Lee", "Der Vertrag mit dem Kunden läuft aus."},
		}, map[string]any{"recorded_by": map[string]any{"name": "Dora Kühn", "email": "dora@own.example", "email_domain": "own.example", "team": "Ops"}}),
	}
}

func TestQueries(t *testing.T) {
	testrun.SkipUnderRace(t)
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	for _, c := range []struct{ query, want string }{
		{"", "3 2 1"},
		{"budget", "1"},
		{"marketing", "1 2"},
		{"marketing sort:date", "2 1"},
		{"marketing budget", "1"},
		{"marketing -budget", "2"},
		{"budget OR release sort:date", "2 1"},
		{"(budget OR release) -friday", "1"},
		{`"were cut"`, "1"},
		{`"cut were"`, ""},
		{`"about that on"`, "1"},
		{`"numbers nothing"`, "1"},
		{"renew", "1"},
		{"market*", "1 2"},
		{"besprech*", "3"},
		{"reviews", "1"},
		{"besprechunk~", "3"},
		{"relaese~", "2"},
		{"zoe obrien", "2"},
		{"ABC-123", "1"},
		{"abc123", "1"},
		{"email", "1"},
		{"haus", "3"},
		{"vertrag", "3"},
		{"the", "1 2"},
		{"the vertrag", "3"},
		{"the OR vertrag sort:date", "3 2 1"}, // stop words are looked for where an alternative has nothing else
		{"how OR helpdesk", "2"},
		{"(how) OR helpdesk", "2"},
		{"(how are) OR vertrag sort:date", "3 2"},
		{"(the vertrag) OR helpdesk", "3"},
		{"marketing (how OR helpdesk)", "2"},
		{"besprech* -(vertrag -the)", ""},
		{"speaker:anna budget", "1"},
		{"speaker:cara", "2"},
		{`speaker:"cara diaz"`, "2"},
		{"speaker:bob contract", "1"},
		{"speaker:anna contract", ""},
		{"speaker:anna OR speaker:anna@own.example contract", ""}, // alternatives are one scope
		{`speaker:anna OR speaker:anna@own.example "printing company"`, ""},
		{"speaker:anna OR speaker:bob contract", "1"},
		{"(speaker:anna OR speaker:dora) contract", ""},
		{"in:title OR in:actions marketing", ""},
		{"in:title OR in:summary marketing", "1"},
		{"in:title OR in:summary sort:date", "3 2 1"},
		{"person:zoe", "2"},
		{"recorded-by:dora", "3"},
		{"email:zoe@client.example", "2"},
		{"domain:client.example", "2"},
		{"team:ops", "3"},
		{"type:standup", "2"},
		{`type:"sales call"`, "3 1"},
		{"title:review", "1"},
		{"language:de", "3"},
		{"account:main", "3 2 1"},
		{"id:2", "2"},
		{"on:2026-05-10", "2"},
		{"after:2026-05-10", "3 2"},
		{"before:2026-05-10", "1"},
		{"on:2026-05", "3 2 1"},
		{"last:2w", "3"},
		{"longer:30m", "3 2 1"},
		{"longer:600000h", ""},
		{"shorter:600000h", "3 2 1"},
		{"shorter:30m", ""},
		{"has:summary", "1"},
		{"has:actions", "1"},
		{"is:external", "2"},
		{"is:private", "3 1"},
		{"action:open", "1"},
		{"action:done", ""},
		{"assignee:bob", "1"},
		{"in:summary marketing", "1"},
		{"in:summary in:title weekly", "2"},
		{"forecast", "1"},
		{"in:actions forecast", "1"},
		{"in:transcript forecast", ""},
	} {
		a := h.search(Request{Query: c.query})
		if got := hitIDs(a); got != c.want || a.Relaxed != "" && !strings.Contains(c.query, "?") {
			t.Errorf("%q finds %q (%s), want %q", c.query, got, a.Relaxed, c.want)
		}
		if want := len(strings.Fields(c.want)); a.Total != want || !a.Exact && len(strings.Fields(c.query)) < 3 {
			t.Errorf("%q: total %d (exact %v), want %d", c.query, a.Total, a.Exact, want)
		}
		if whole := h.search(Request{Query: c.query, Whole: true}); hitIDs(whole) != c.want {
			t.Errorf("the whole of %q finds %q, want %q", c.query, hitIDs(whole), c.want)
		}
	}
}

func TestMoments(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	for _, c := range []struct {
		query, want string
	}{
		{"budget", "0s Anna Lee transcript: Let's begin with the [budget] for marketing."},
		{"ABC-123", "30s Bob Stone transcript: The budgets were cut, ticket [ABC-123] has the numbers."},
		{`"were cut"`, "30s Bob Stone transcript: The budgets [were cut], ticket ABC-123 has the numbers."},
		{"forecast", "1m40s Bob Stone action_items: Send the revised [forecast]"},
		{"zoe", "20s Bob Stone transcript: The release is on Friday, [Zoë] will call O'Brien."},
		{"speaker:bob budget", "30s Bob Stone transcript: The [budgets] were cut, ticket ABC-123 has the numbers."},
	} {
		a := h.search(Request{Query: c.query})
		if len(a.Meetings) == 0 || len(a.Meetings[0].Moments) == 0 {
			t.Errorf("%q finds no moment", c.query)
			continue
		}
		m := a.Meetings[0].Moments[0]
		if got := fmt.Sprintf("%s %s %s: %s", m.Offset, m.Speaker, m.Part, markHits(m.Snippet)); got != c.want {
			t.Errorf("%q: %s\nwant %s", c.query, got, c.want)
		}
	}
}

func TestRelaxed(t *testing.T) {
	h := newFixture(t)
	h.add(threeMeetings()...)
	h.catchUp()
	a := h.search(Request{Query: "printing company unheardof"})
	if hitIDs(a) != "1" || a.Relaxed == "" {
		t.Errorf("loosened: finds %q, says %q", hitIDs(a), a.Relaxed)
	}
	a = h.search(Request{Query: "What did Bob say about the contract with the printing company?"})
	if len(a.Meetings) == 0 || a.Meetings[0].Row.RecordingID != 1 || a.Relaxed == "" {
		t.Errorf("question: finds %q, says %q", hitIDs(a), a.Relaxed)
	}
	for _, q := range []string{"printing company unheardof", "what did bob say about the unheardof company"} {
		if a = h.search(Request{Query: q, Whole: true}); a.Total != 0 || a.Relaxed != "" {
			t.Errorf("the whole of %q: finds %q, says %q", q, hitIDs(a), a.Relaxed)
		}
	}
}

// TestRelaxedAmongWhatFiltersLeave has a meeting that a filter leaves out have all the words.
func TestRelaxedAmongWhatFiltersLeave(t *testing.T) {
	h := newFixture(t)
	for i, c := range []struct{ kind, said string }{{"Review", "walrus"}, {"Call", "walrus penguin"}, {"Planning", "walrus penguin ostrich emu"}, {"Review", "nothing"}} {
		h.add(meeting(int64(i+1), "Plan", "en", day(1+i), []utterance{{0, "Anna Lee", c.said}}, map[string]any{"meeting_type": c.kind}))
	}
	h.catchUp()
	a := h.search(Request{Query: "walrus penguin ostrich emu zebra yak type:Review", Facets: true})
	if hitIDs(a) != "1" || a.Relaxed == "" {
		t.Errorf("it finds %q, says %q", hitIDs(a), a.Relaxed)
	}
	for _, f := range a.Facets {
		if f.Field == "type" && fmt.Sprint(f.Values) != "[{Call 1} {Planning 1} {Review 1}]" {
			t.Errorf("the types are %v", f.Values)
		}
	}
}
