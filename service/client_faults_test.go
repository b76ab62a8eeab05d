package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/loopback"
	"minutebook/internal/testrun"
	"minutebook/service"
)

// transcriptOf is the transcript of the meeting with that id, as it is loaded.
func transcriptOf(id int64) string {
	return fmt.Sprintf(`[{"speaker":{"display_name":"Ada","matched_calendar_invitee_email":null},"text":"Meeting %d, née \"Sprint\"","timestamp":"00:00:01"}]`, id)
}

func meetingOf(id int64) []byte {
	at := time.Date(1999, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(id) * time.Hour)
	stamp := func(d time.Duration) string { return at.Add(d).Format("2006-01-02T15:04:05Z") }
	return fmt.Appendf(nil, `{"title":"M%d","meeting_title":null,"meeting_type":null,"recording_id":%d,"url":"https://meet.example/c/%d","share_url":"https://meet.example/s/%d",`+
		`"created_at":%q,"scheduled_start_time":%q,"scheduled_end_time":%q,"recording_start_time":%q,"recording_end_time":%q,`+
		`"calendar_invitees_domains_type":"only_internal","shared_with":"no_teams","transcript_language":"en","calendar_invitees":[],"meeting_url":null,`+
		`"recorded_by":{"name":"Ada","email":"ada@x.example","email_domain":"x.example","team":"Research"},`+
		`"transcript":%s,"default_summary":{"template_name":"General","markdown_formatted":"# %d"},"action_items":[],"highlights":[],"crm_matches":null}`+"\n",
		id, id, id, id, stamp(time.Hour), stamp(0), stamp(time.Hour), stamp(0), stamp(time.Hour), transcriptOf(id), id)
}

// faultyClient is a client of a sandbox with n meetings, in virtual time.
func faultyClient(t *testing.T, n int, window service.Window, faults string) *api.Client {
	t.Helper()
	ctx := t.Context()
	a, err := archive.Open(ctx, archive.Options{Dir: service.ArchiveDir(t), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	s, err := service.New(ctx, service.Options{Archive: a, Sandbox: true, Window: window, Faults: faults, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for id := range n {
		lines.Write(meetingOf(int64(id + 1)))
	}
	if _, err := s.Load(ctx, &lines, "test"); err != nil {
		t.Fatal(err)
	}
	key, err := s.CreateKey(ctx, "ada@x.example")
	if err != nil {
		t.Fatal(err)
	}
	tr := &loopback.Transport{Handler: s.Handler(), Before: func(*http.Request) time.Duration { return 300 * time.Millisecond }}
	c, err := api.NewClient(api.ClientOptions{BaseURL: "http://service.test" + service.BasePath, Credential: api.APIKey(key),
		HTTP: &http.Client{Transport: tr}, Budget: api.NewBudget(api.BudgetOptions{Connection: "ada", Store: a})})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever goes wrong on the way, the client brings every meeting and every
// word of it.
func TestTheClientGetsEverythingInSpiteOfFaults(t *testing.T) {
	testrun.SkipUnderRace(t)
	const meetings = 45
	for _, window := range []service.Window{service.WindowFixed, service.WindowSliding} {
		for seed := range 3 {
			faults := fmt.Sprintf("429=0.1,502=0.1,503=0.1,reset=0.1,truncate=0.1,length=0.1,noheaders=0.3,late=0.3,repeat=0.3,cursor=0.1,"+
				"absent=0.3,share=0.3,team=0.3,twice=0.3,limit=0.5,end=0.5,keys=0.3,date=0.5,seed=%d", seed)
			t.Run(fmt.Sprintf("%s,seed=%d", window, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := faultyClient(t, meetings, window, faults)
					var ids []int64
					query := api.MeetingQuery{IncludeTranscript: true, IncludeSummary: true, IncludeActionItems: true}
					for _, m := range readMeetings(t, c, query) {
						ids = append(ids, m.RecordingID)
						if entries, ok := m.Transcript.Get(); ok && entries[0].Text != fmt.Sprintf("Meeting %d, née \"Sprint\"", m.RecordingID) {
							t.Errorf("meeting %d says %q", m.RecordingID, entries[0].Text)
						}
					}
					if len(ids) != meetings {
						t.Errorf("%d meetings, want %d", len(ids), meetings)
					}
					for _, id := range ids[:15] {
						readLate(t, c, id)
					}
				})
			})
		}
	}
}

// readMeetings reads all meetings of a query, each once, and begins the list again where
// its cursor is refused.
func readMeetings(t *testing.T, c *api.Client, query api.MeetingQuery) (list []api.Meeting) {
	t.Helper()
	seen, cursor := map[int64]bool{}, ""
	for {
		page, err := c.MeetingsPage(t.Context(), query, cursor)
		if api.IsCursorRefused(err) {
			cursor = ""
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			var m api.Meeting
			if err := json.Unmarshal(item, &m); err != nil {
				t.Fatal(err)
			}
			if !seen[m.RecordingID] {
				seen[m.RecordingID] = true
				list = append(list, m)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return list
		}
	}
}

// readLate reads content that may be missing at first, in several ways.
func readLate(t *testing.T, c *api.Client, id int64) {
	t.Helper()
	for range 4 {
		got, err := c.Transcript(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got.Raw == nil {
			continue
		}
		if string(got.Raw) != transcriptOf(id) {
			t.Errorf("transcript %d is %s", id, got.Raw)
		}
		return
	}
	t.Errorf("transcript %d never came", id)
}
