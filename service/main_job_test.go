package service

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/api"
	"minutebook/internal/testrun"
)

func TestAdminWalksNewestFirst(t *testing.T) {
	var lines []string
	for id := 1; id <= 23; id++ {
		lines = append(lines, meeting(id))
	}
	s := newSandbox(t, Options{}, lines...)
	ids := s.walk("include_transcript=true&include_summary=true", s.admin)
	if len(ids) != 23 || !slices.IsSortedFunc(ids, func(a, b int64) int { return int(b - a) }) {
		t.Fatalf("walked %v", ids)
	}
	body := s.get("/meetings?include_transcript=true", s.admin, 200).body
	if !bytes.Contains(body, []byte("Hello \\u003call\\u003e \\u0026 good\u00a0day")) {
		t.Errorf("the transcript is not verbatim: %s", body)
	}
}

func TestDownloadGoesFromProcessingToCompletedWithRanges(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSandbox(t, Options{Generation: 35 * time.Second}, meeting(1))
	var d api.Download
	a := s.call(http.MethodPost, "/recordings/1/download", s.admin, "")
	if a.decode(t, &d); a.status != http.StatusAccepted || d.Status != "processing" || d.DownloadID == "" {
		t.Fatalf("POST download: %d %s", a.status, a.body)
	}
	path := "/recordings/1/downloads/" + d.DownloadID
	if s.get(path, s.admin, 200).decode(t, &d); d.Status != "processing" {
		t.Fatalf("status %s, want processing", d.Status)
	}
	s.clock.add(35 * time.Second)
	if s.get(path, s.admin, 200).decode(t, &d); d.Status != "completed" {
		t.Fatalf("status %s, want completed", d.Status)
	}
	file, _ := d.Video.Get()
	req, _ := http.NewRequest(http.MethodGet, file.URL, nil)
	req.Header.Set("Range", "bytes=10-19")
	if a := s.do(req); a.status != http.StatusPartialContent || len(a.body) == 0 || a.header.Get("Content-Range") == "" {
		t.Errorf("range: %d %v", a.status, a.header)
	}
	whole := s.call(http.MethodGet, file.URL, "", "")
	if int64(len(whole.body)) != file.FileSizeBytes || whole.header.Get("Content-Type") != "video/mp4" {
		t.Errorf("%d bytes of %d, %s", len(whole.body), file.FileSizeBytes, whole.header.Get("Content-Type"))
	}
	at := strings.Index(file.URL, "/external/")
	for i := at + 1; i < len(file.URL); i++ {
		other := byte('A')
		if file.URL[i] == other {
			other = 'B'
		}
		if a := s.call(http.MethodGet, file.URL[:i]+string(other)+file.URL[i+1:], "", ""); a.status < 400 {
			t.Errorf("a link with character %d changed is answered %d", i, a.status)
		}
	}
	s.clock.add(24 * time.Hour)
	d = api.Download{}
	if s.get(path, s.admin, 200).decode(t, &d); d.Status != "expired" || !d.Video.Absent() {
		t.Errorf("after a day: %+v", d)
	}
	if a := s.call(http.MethodGet, file.URL, "", ""); a.status != http.StatusForbidden {
		t.Errorf("an expired link is answered %d", a.status)
	}
}

// inbox is an endpoint that keeps its deliveries and answers as told.
type inbox struct {
	*httptest.Server
	got    chan delivery
	answer func(n int) int
}

type delivery struct {
	header http.Header
	body   []byte
}

func newInbox(t *testing.T, answer func(n int) int) *inbox {
	in := &inbox{got: make(chan delivery, 100), answer: answer}
	var n atomic.Int64 // deliveries come side by side
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		count, status := int(n.Add(1)), 200
		if answer != nil {
			status = answer(count)
		}
		if status == http.StatusFound {
			w.Header().Set("Location", in.URL+"/elsewhere")
		}
		w.WriteHeader(status)
		in.got <- delivery{r.Header.Clone(), body}
	}))
	t.Cleanup(in.Close)
	return in
}

// next waits for a delivery.
func (in *inbox) next(t *testing.T) delivery {
	t.Helper()
	select {
	case d := <-in.got:
		return d
	case <-time.After(5 * time.Minute):
		t.Fatal("nothing was delivered")
		return delivery{}
	}
}

const allFlags = `"include_transcript": true, "include_summary": true, "include_action_items": true, "include_crm_matches": true, "include_highlights": true`

func (s *sandbox) webhook(key, url, triggers string) api.Webhook {
	s.t.Helper()
	a := s.call(http.MethodPost, "/webhooks", key, `{"destination_url": "`+url+`", "triggered_for": [`+triggers+`], `+allFlags+`}`)
	var hook api.Webhook
	if a.decode(s.t, &hook); a.status != http.StatusCreated {
		s.t.Fatalf("POST /webhooks: %d %s", a.status, a.body)
	}
	return hook
}

func TestFinishedMeetingsBecomeVisibleAndFireSigned(t *testing.T) {
	s := newSandbox(t, Options{Hold: 2}, meeting(1), meeting(2), meeting(3))
	s.run()
	in := newInbox(t, nil)
	hook := s.webhook(s.key("ann@acme.example"), in.URL, `"my_recordings"`)
	if ids := s.walk("", s.admin); !slices.Equal(ids, []int64{1}) {
		t.Fatalf("before: %v", ids)
	}
	id, ok, err := s.Finish(t.Context())
	if err != nil || !ok || id != 2 {
		t.Fatalf("finish: %d %v %v", id, ok, err)
	}
	if ids := s.walk("", s.admin); !slices.Equal(ids, []int64{2, 1}) {
		t.Fatalf("after: %v", ids)
	}
	d := in.next(t)
	wh, err := standardwebhooks.NewWebhook(hook.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.VerifyIgnoringTimestamp(d.body, d.header); err != nil {
		t.Error(err)
	}
	if err := wh.VerifyIgnoringTimestamp(append(d.body, ' '), d.header); err == nil {
		t.Error("a changed body verifies")
	}
	var m api.Meeting
	if err := json.Unmarshal(d.body, &m); err != nil || m.RecordingID != 2 || m.Transcript.Absent() {
		t.Errorf("delivered %s: %v", d.body, err)
	}
}

func TestCorpusArrivesWholeForItsAdministrator(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := testrun.Corpus(t)
	file, err := os.Open(filepath.Join(dir, "akash.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := newSandbox(t, Options{})
	result, err := s.Load(t.Context(), file, "akash")
	if err != nil || result.New != 415 {
		t.Fatalf("loaded %+v: %v", result, err)
	}
	if err := s.ShareAll(t.Context(), s.AdminEmail()); err != nil {
		t.Fatal(err)
	}
	inside := s.walk("", s.admin)
	if len(inside) != 398 {
		t.Errorf("%d meetings recorded inside, want 398", len(inside))
	}
}
