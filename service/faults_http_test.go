package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
	"minutebook/internal/testrun"
	"minutebook/service/fault"
	"minutebook/service/limit"
)

// faultySandbox is a sandbox with 25 meetings in which a fault always happens, and its
// address without the contract's judge in between.
func faultySandbox(t *testing.T, faults string) *sandbox {
	t.Helper()
	var lines []string
	for id := 1; id <= 25; id++ {
		lines = append(lines, meeting(id))
	}
	s := newSandbox(t, Options{Faults: faults}, lines...)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	s.base = server.URL + BasePath
	return s
}

// fetch makes a call and returns its answer, whole or cut.
func (s *sandbox) fetch(path string) (*http.Response, []byte, error) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", s.admin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

func TestFaultsOfAnswers(t *testing.T) {
	testrun.SkipUnderRace(t)
	_, whole, err := faultySandbox(t, "").fetch("/teams")
	if err != nil {
		t.Fatal(err)
	}
	for fault, right := range map[string]func(*http.Response, []byte, error) bool{
		"429": func(r *http.Response, body []byte, _ error) bool {
			return r.StatusCode == 429 && len(body) == 0 && r.Header.Get("Content-Type") == "text/html" && r.Header.Get("Retry-After") == "1" && r.Header.Get("RateLimit-Limit") == ""
		},
		"502": func(r *http.Response, body []byte, _ error) bool {
			return r.StatusCode == 502 && strings.HasPrefix(string(body), "<html>") && r.Header.Get("RateLimit-Limit") == ""
		},
		"503": func(r *http.Response, body []byte, _ error) bool {
			return r.StatusCode == 503 && strings.HasPrefix(string(body), "<html>")
		},
		"reset":    func(_ *http.Response, _ []byte, err error) bool { return err != nil },
		"truncate": func(_ *http.Response, body []byte, err error) bool { return err != nil && len(body) < len(whole) },
		"length": func(r *http.Response, body []byte, err error) bool {
			return err == nil && r.ContentLength == int64(len(whole)/2) && string(body) == string(whole[:len(whole)/2])
		},
		"noheaders": func(r *http.Response, body []byte, _ error) bool {
			return r.StatusCode == 200 && string(body) == string(whole) && r.Header.Get("RateLimit-Limit")+r.Header.Get("RateLimit-Reset")+r.Header.Get("RateLimit-Remaining") == ""
		},
	} {
		s := faultySandbox(t, fault+"=1")
		resp, body, err := s.fetch("/teams")
		if !right(resp, body, err) {
			t.Errorf("%s: %+v %q %v", fault, resp, body, err)
		}
		keys, err := s.Keys(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		quota, _ := s.limits.Take(keys[0].ID, s.clock.Now(), limit.Global)
		if counted := quota.Remaining == quota.Limit-2; counted != slices.Contains([]string{"truncate", "length", "noheaders"}, fault) {
			t.Errorf("%s: counted %v", fault, counted)
		}
	}
}

func TestFaultsOfLists(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := faultySandbox(t, "repeat=1")
	first, cursor := s.pageOf("", "", s.admin, 200)
	second, _ := s.pageOf("", cursor, s.admin, 200)
	if len(second) != 11 || second[0] != first[9] || second[1] != first[9]-1 {
		t.Errorf("after %v comes %v", first, second)
	}
	s = faultySandbox(t, "cursor=1")
	_, cursor = s.pageOf("", "", s.admin, 200)
	s.pageOf("", cursor, s.admin, 400)
	s = faultySandbox(t, "late=1")
	for range 3 { // which ask for nothing that can be late
		s.get("/meetings", s.admin, 200)
	}
	for i := range 4 {
		_, body, err := s.fetch("/meetings?include_transcript=true&include_summary=true")
		if late := strings.Count(string(body), `"transcript":null`) == 10; err != nil || late != (i < 3) {
			t.Errorf("list %d: late %v, %v", i, late, err)
		}
	}
}

func TestFaultsOfDownloads(t *testing.T) {
	testrun.SkipUnderRace(t)
	ask := func(s *sandbox) (d api.Download) {
		t.Helper()
		s.call(http.MethodPost, "/recordings/1/download", s.admin, "").decode(t, &d)
		s.clock.add(time.Minute)
		s.get("/recordings/1/downloads/"+d.DownloadID, s.admin, 200).decode(t, &d)
		return d
	}
	for fault, want := range map[string]string{"fail": "generation_failed", "timeout": "generation_timeout"} {
		d := ask(faultySandbox(t, fault+"=1"))
		if d.Status != "failed" || d.FailureReason.Or("") != want || !d.Video.Absent() {
			t.Errorf("%s: %+v", fault, d)
		}
	}
	s := faultySandbox(t, "expire=1")
	file, _ := ask(s).Video.Get()
	if a := s.call(http.MethodGet, file.URL, "", ""); a.status != http.StatusForbidden {
		t.Errorf("expire: %d", a.status)
	}
	s = faultySandbox(t, "")
	file, _ = ask(s).Video.Get()
	var err error
	if s.faults, err = fault.Parse("length=1"); err != nil { // not of the answers before
		t.Fatal(err)
	}
	resp, err := http.Get(file.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); resp.ContentLength != file.FileSizeBytes/2 || int64(len(body)) != file.FileSizeBytes/2 {
		t.Errorf("length: %d declared, %d came of %d: %v", resp.ContentLength, len(body), file.FileSizeBytes, err)
	}
}

func TestFaultsOfWebhooks(t *testing.T) {
	s := newSandbox(t, Options{Faults: "duplicate=1", Hold: 1}, meeting(1))
	in := newInbox(t, nil)
	s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	if _, _, err := s.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, o := range s.dueNow() {
		if err := s.attempt(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := in.next(t), in.next(t); a.header.Get("webhook-id") != b.header.Get("webhook-id") || string(a.body) != string(b.body) {
		t.Error("duplicate: the second is another")
	}
	// Half of ten are held up for 7 s, and so overtaken by the others.
	var lines []string
	for id := 1; id <= 10; id++ {
		lines = append(lines, meeting(id))
	}
	s = newSandbox(t, Options{Faults: "reorder=0.5,seed=3", Hold: 10}, lines...)
	s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	for range lines {
		if _, _, err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	for range 2 {
		var err error
		order, err = sqlite.Column[string](t.Context(), s.store.db.R, `SELECT recording_id FROM deliveries WHERE next_at <= ? ORDER BY next_at, id`, s.clock.Now().UnixMilli())
		if err != nil {
			t.Fatal(err)
		}
		if len(order) == len(lines) {
			break
		}
		s.clock.add(reorderWait)
	}
	if len(order) != len(lines) || slices.IsSortedFunc(order, func(a, b string) int { return number(t, a) - number(t, b) }) {
		t.Errorf("reorder: sent in the order %v", order)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(fmt.Errorf("read %q: %w", text, err))
	}
	return n
}

func TestLateContentArrivesInTheEnd(t *testing.T) {
	s := newSandbox(t, Options{Faults: "late=1"}, meeting(1))
	var got []string
	for range 4 {
		a := s.call("GET", "/recordings/1/transcript", s.admin, "")
		got = append(got, fmt.Sprintf("%d %.18s", a.status, a.body))
	}
	want := []string{`200 {"transcript":null`, `404 {"error":"transcri`, `200 {"transcript":[]}`, `200 {"transcript":[{"`}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i][:15]) || i == 3 && !strings.Contains(got[i], "[{") {
			t.Errorf("read %d: %s, want %s", i, got[i], want[i])
		}
	}
}
