package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// sandbox is a running service of its own with a clock that tests move.
type sandbox struct {
	*Service
	t     *testing.T
	clock *clock
	base  string
	admin string // API key
}

// clock is a time that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var testStart = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func openTestArchive(t testing.TB, dir string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// newSandbox starts a service loaded with lines.
func newSandbox(t *testing.T, opts Options, lines ...string) *sandbox {
	t.Helper()
	return newSandboxAt(t, &clock{now: testStart}, opts, lines...)
}

func newSandboxAt(t *testing.T, at *clock, opts Options, lines ...string) *sandbox {
	t.Helper()
	s := &sandbox{t: t, clock: at}
	if opts.Archive == nil {
		opts.Archive, opts.Sandbox = openTestArchive(t, ArchiveDir(t)), true
	}
	opts.AllowPrivate, opts.Now, opts.Logger = true, s.clock.Now, zerolog.Nop()
	var err error
	if s.Service, err = New(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if len(lines) > 0 {
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], "\n", " ")
		}
		if _, err := s.Load(t.Context(), strings.NewReader(strings.Join(lines, "\n")), "test"); err != nil {
			t.Fatal(err)
		}
	}
	if opts.Sandbox {
		if s.admin, _, err = s.EnsureAdminKey(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(checked(t, s.Handler()))
	t.Cleanup(server.Close)
	s.base = server.URL + BasePath
	return s
}

// run runs the service's background work until the test ends.
func (s *sandbox) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("run: %v", err)
		}
	})
}

// key makes an API key.
func (s *sandbox) key(email string) string {
	s.t.Helper()
	key, err := s.CreateKey(s.t.Context(), email)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

// answer is the answer to a call.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) decode(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
}

// call makes a request with an API key ("" for none).
func (s *sandbox) call(method, path, key string, body string) answer {
	s.t.Helper()
	url := path
	if !strings.HasPrefix(path, "http") {
		url = s.base + path
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	switch {
	case strings.HasPrefix(key, "mba_"):
		req.Header.Set("Authorization", "Bearer "+key)
	case key != "":
		req.Header.Set("X-Api-Key", key)
	}
	if strings.Contains(body, "grant_type=") {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return s.do(req)
}

func (s *sandbox) do(req *http.Request) answer {
	s.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, bytes.TrimSpace(body)}
}

// get makes a GET that must answer with a status.
func (s *sandbox) get(path, key string, want int) answer {
	s.t.Helper()
	a := s.call(http.MethodGet, path, key, "")
	if a.status != want {
		s.t.Fatalf("GET %s: %d %s, want %d", path, a.status, a.body, want)
	}
	return a
}

// walk lists recording ids over all pages, outside the limits.
func (s *sandbox) walk(query, key string) []int64 {
	s.t.Helper()
	var ids []int64
	for cursor := ""; ; {
		var page struct {
			Next  *string `json:"next_cursor"`
			Items []struct {
				ID int64 `json:"recording_id"`
			}
		}
		path := "/meetings?" + query
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		s.get(path, key, http.StatusOK).decode(s.t, &page)
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		if page.Next == nil {
			return ids
		}
		cursor = *page.Next
		s.clock.add(3 * time.Second)
	}
}

// meeting is a line of a loaded file; opts are "key": value pairs that replace.
func meeting(id int, opts ...string) string {
	start := testStart.Add(-time.Duration(1000-id) * time.Hour)
	m := map[string]any{
		"recording_id": id, "title": fmt.Sprintf("Meeting %d", id), "meeting_title": fmt.Sprintf("Meeting %d", id),
		"meeting_type": "Sync", "url": fmt.Sprintf("https://meet.example/calls/%d", id+7), "share_url": fmt.Sprintf("https://meet.example/share/%d", id),
		"created_at": start.Add(time.Hour), "scheduled_start_time": start, "scheduled_end_time": start.Add(time.Hour),
		"recording_start_time": start, "recording_end_time": start.Add(time.Hour), "meeting_url": nil,
		"calendar_invitees_domains_type": "only_internal", "shared_with": "single_team", "transcript_language": "en",
		"calendar_invitees": []any{map[string]any{"name": "Ann", "email": "ann@acme.example", "email_domain": "acme.example", "is_external": false}},
		"recorded_by":       map[string]any{"name": "Ann", "email": "ann@acme.example", "email_domain": "acme.example", "team": "Sales"},
		"transcript": []any{map[string]any{"speaker": map[string]any{"display_name": "Ann", "matched_calendar_invitee_email": nil},
			"text": "Hello <all> & good\u00a0day", "timestamp": "00:00:01"}},
		"default_summary": map[string]any{"template_name": "General", "markdown_formatted": "# Summary"},
		"action_items":    []any{}, "highlights": nil, "crm_matches": map[string]any{"error": "No CRM connected"},
	}
	for i := 0; i < len(opts); i += 2 {
		var v any
		if err := json.Unmarshal([]byte(opts[i+1]), &v); err != nil {
			panic(err)
		}
		m[opts[i]] = v
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(line)
}

// recordedBy is the option of meeting for another recorder.
func recordedBy(name, team string) []string {
	domain := "acme.example"
	if team == "Outside" {
		domain = "other.example"
	}
	return []string{"recorded_by", fmt.Sprintf(`{"name": %q, "email": "%s@%s", "email_domain": %q, "team": %q}`, name, name, domain, domain, team),
		"calendar_invitees", fmt.Sprintf(`[{"name": %q, "email": "%s@%s", "email_domain": %q, "is_external": %v}]`, name, name, domain, domain, team == "Outside")}
}
