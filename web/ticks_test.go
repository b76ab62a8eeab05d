package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
	"minutebook/sample"
	"minutebook/service"
	syncer "minutebook/sync"
)

// tickForm is the form that ticks an action item off; at is in milliseconds.
func tickForm(id, at int64, text string) url.Values {
	return url.Values{"meeting": {itoa(id)}, "at": {itoa(at)}, "text": {text}, "done": {"yes"}, "back": {"/meetings/" + itoa(id)}}
}

// TestTicksStayWithTheirItem reads a meeting again with other entries, highlights and items:
// a tick stays with the item of the same moment and text, wherever it stands then.
func TestTicksStayWithTheirItem(t *testing.T) {
	testrun.SkipUnderRace(t)
	read := func(items, more string) []byte {
		return meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"recording_end_time":"2026-06-10T10:00:00Z","action_items":[`+items+`]`+more)
	}
	const count, feed, wash = `{"description":"Count them","recording_timestamp":"00:01:05"}`, `{"description":"Feed them","recording_timestamp":"00:02:00"}`, `{"description":"Wash them"}`
	s := newSite(t, read(count+","+feed, ""))
	if resp, _ := s.submit("/actions/tick", tickForm(1, 65_000, "Count them").Encode()); resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("the tick is answered with %s", resp.Status)
	}
	done := func(want string) {
		t.Helper()
		for _, page := range []string{"/meetings/1", "/actions?state=all"} {
			var got []string
			for _, item := range regexp.MustCompile(`(?s)<li class="done">.*?</li>`).FindAllString(s.shows(200, page), -1) {
				got = append(got, regexp.MustCompile(`class="todo" dir="auto">([^<]*)`).FindStringSubmatch(item)[1])
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s: done are %q, want %q", page, got, want)
			}
		}
	}
	done("Count them")
	for i, again := range []struct{ items, more, want string }{
		{wash + "," + feed + "," + count, `,"transcript":[{"speaker":{"display_name":"Ana"},"text":"Other words.","timestamp":"00:00:07"}],"highlights":[{"type":"Moment","summary":"New","start_time":65,"end_time":70}]`, "Count them"},
		{feed, "", ""},                         // it is gone
		{count + "," + feed, "", "Count them"}, // and back
		{`{"description":"Count them twice","recording_timestamp":"00:01:05"},{"description":"Count them","recording_timestamp":"00:01:06"}`, "", ""}, // others
		{count + "," + count, "", "Count them, Count them"},
	} {
		o, err := archive.FromMeeting("acme", archive.SourceList, at.Add(time.Duration(i+1)*time.Hour), read(again.items, again.more))
		if err == nil {
			_, err = s.archive.Apply(t.Context(), []archive.Observation{o})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.catchUp()
		done(again.want)
	}
	if body := s.shows(200, "/meetings/1", `aria-label="Action item: Count them, 1:05"`); strings.Count(body, `class="todo" x="18.1"`) != 2 {
		t.Error("the ticks on the bar do not stand where the items' moments are")
	}
}

// TestItemsOfManyLinesAreTickedOff sends forms as browsers do: with CR and LF at the end of
// a line, whatever the text has there.
func TestItemsOfManyLinesAreTickedOff(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"action_items":[{"description":"Count them:\n- twice\r- thrice","recording_timestamp":"00:01:05"}]`))
	body := s.shows(200, "/actions")
	sent := strings.NewReplacer("\r", "\n", "\n", "\n").Replace(regexp.MustCompile(`name="text" value="([^"]*)"`).FindStringSubmatch(body)[1])
	resp, _ := s.submit("/actions/tick", tickForm(1, 65_000, strings.ReplaceAll(sent, "\n", "\r\n")).Encode())
	if resp.StatusCode != http.StatusSeeOther {
		t.Errorf("ticking off is answered with %s", resp.Status)
	}
	s.shows(200, "/actions?state=done", "Count them:")
}

// TestNamesKeepTheirSpaces offers names with spaces that a browser would draw together: an
// option without a value sends its text as it is shown.
func TestNamesKeepTheirSpaces(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", `"meeting_type":"Sync  up","transcript":[
		{"speaker":{"display_name":"Bo  Lee"},"text":"One.","timestamp":"00:00:01"},{"speaker":{"display_name":"Cy\nDe"},"text":"Two.","timestamp":"00:00:02"}]`))
	s.shows(200, "/", `<option value="Sync  up">`)
	s.apply(meeting(2, "Zebra", "2026-06-10T09:00:00Z", `"meeting_type":"Sync\rdown"`), json.RawMessage(strings.Replace(string(meeting(3, "Gnu", "2026-06-10T09:00:00Z", "")), `"Ops"`, `"O\n\u0000ps"`, 1)))
	s.shows(200, "/?type=Sync%0D%0Adown", "Zebra", " selected>")
	s.shows(200, "/?team=O%0D%0A%EF%BF%BDps", "Gnu", " selected>")
	s.shows(200, "/meetings/1", `<option dir="auto" value="Bo  Lee">`)
	for speaker, other := range map[string]string{"Bo++Lee": "Two.", "Cy%0D%0ADe": "One."} {
		if body := s.shows(200, "/meetings/1?speaker="+speaker, " selected>"); strings.Contains(body, other) {
			t.Errorf("%s is not the only speaker", speaker)
		}
	}
}

// TestAdditionsAreNeverSent ticks items off, writes a note and saves a search while the
// archive reads from the real service: the service hears reads alone, and no word of the
// additions.
func TestAdditionsAreNeverSent(t *testing.T) {
	testrun.SkipUnderRace(t)
	ctx := t.Context()
	up, err := archive.Open(ctx, archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop()})
	must(t, err)
	t.Cleanup(func() { up.Close() })
	upstream, err := service.New(ctx, service.Options{Archive: up, Sandbox: true, Now: time.Now, Logger: zerolog.Nop()})
	must(t, err)
	_, err = upstream.Load(ctx, sample.NDJSON(sample.Base()), "sample")
	must(t, err)
	var mu sync.Mutex
	var calls []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		calls = append(calls, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header, " ", string(body)))
		mu.Unlock()
		upstream.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s := newSiteBehind(t)
	recorder := regexp.MustCompile(`"recorded_by":\{[^}]*"email":"([^"]+)"`).FindSubmatch(sample.All()[0])
	key, err := upstream.CreateKey(ctx, string(recorder[1]))
	must(t, err)
	client, err := api.NewClient(api.ClientOptions{BaseURL: srv.URL + "/external/v1", Credential: api.APIKey(key), Logger: zerolog.Nop()})
	must(t, err)
	reader, err := syncer.New(syncer.Options{Archive: s.archive, Accounts: []syncer.Account{{Name: "acme", Client: client}}, Logger: zerolog.Nop()})
	must(t, err)
	must(t, s.archive.SetAccounts(ctx, []archive.AccountSetting{{Name: "acme"}}))
	must(t, reader.Sync(ctx, syncer.Request{}, nil))
	s.catchUp()
	rows, err := s.archive.ActionItems(ctx, archive.ActionQuery{Viewer: owner().Viewer})
	must(t, err)
	if len(rows) < 2 || len(calls) < 2 {
		t.Fatalf("%d action items after %d calls: the test sees too little", len(rows), len(calls))
	}
	for _, item := range rows {
		form := tickForm(item.RecordingID, openItem{action: action{At: item.Offset}}.Millis(), item.Description)
		if resp, body := s.submit("/actions/tick", form.Encode()); resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("tick: %s %s", resp.Status, body)
		}
	}
	const word = "walrusword"
	for address, form := range map[string]url.Values{
		"/meetings/" + itoa(rows[0].RecordingID) + "/notes": {"do": {"add"}, "text": {word}},
		"/saved": {"name": {word}, "query": {word}},
	} {
		if resp, body := s.submit(address, form.Encode()); resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %s %s", address, resp.Status, body)
		}
	}
	before := len(calls)
	must(t, reader.Sync(ctx, syncer.Request{}, nil))
	must(t, reader.Sync(ctx, syncer.Request{Full: true}, nil))
	if len(calls) == before {
		t.Error("the archive reads nothing again: the test sees too little")
	}
	for _, call := range calls {
		if !strings.HasPrefix(call, http.MethodGet+" ") {
			t.Errorf("the archive calls %.200s", call)
		}
		for _, said := range []string{word, rows[0].Description, url.QueryEscape(rows[0].Description)} {
			if strings.Contains(call, said) {
				t.Errorf("the archive tells the service %q: %.200s", said, call)
			}
		}
	}
	ticks, err := s.notes.Ticks(ctx, nil)
	must(t, err)
	if len(ticks) == 0 {
		t.Error("no item is ticked off after the archive was read again")
	}
}
