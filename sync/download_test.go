package syncer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/media"
)

const testMeeting = `{"recording_id": 7, "title": "Weekly", "created_at": "2026-05-04T10:00:00Z"}`

// mediaHost is a real HTTP server with one file, which can misbehave.
type mediaHost struct {
	*httptest.Server
	data     []byte
	tag      string
	ranges   []string
	requests atomic.Int64
	before   func(w http.ResponseWriter, r *http.Request) (done bool)
	headers  []http.Header
}

func newMediaHost(t *testing.T, size int) *mediaHost {
	h := &mediaHost{data: make([]byte, size), tag: `"v1"`}
	r := rand.NewChaCha8([32]byte{1})
	if _, err := r.Read(h.data); err != nil {
		t.Fatal(err)
	}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.requests.Add(1)
		h.ranges = append(h.ranges, req.Header.Get("Range"))
		h.headers = append(h.headers, req.Header.Clone())
		if h.before != nil && h.before(w, req) {
			return
		}
		if h.tag != "" {
			w.Header().Set("ETag", h.tag)
		}
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(h.data))
	}))
	t.Cleanup(h.Close)
	return h
}

// testLoader is a Syncer with an archive that holds one meeting, and a task for
// its recording that has a link.
func testLoader(t *testing.T, h *mediaHost, private bool) (*Syncer, *downloadTask) {
	t.Helper()
	return testLoaderTo(t, h, private, "")
}

// testLoaderTo is testLoader with recordings in another place.
func testLoaderTo(t *testing.T, h *mediaHost, private bool, place string) (*Syncer, *downloadTask) {
	t.Helper()
	ctx := t.Context()
	ar, err := archive.Open(ctx, archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop(), MediaURL: place})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ar.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := api.NewClient(api.ClientOptions{BaseURL: "http://127.0.0.1:1/external/v1", Credential: api.APIKey("secret-key")})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Archive: ar, DownloadMedia: true,
		Accounts: []Account{{Name: "a", Client: client, AllowPrivate: private}}})
	if err != nil {
		t.Fatal(err)
	}
	ob, err := archive.FromMeeting("a", archive.SourceList, time.Now(), []byte(testMeeting))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.apply(ctx, []archive.Observation{ob}, nil, nil); err != nil {
		t.Fatal(err)
	}
	row, err := ar.DownloadOf(ctx, 7)
	if err != nil {
		t.Fatal(err)
	}
	row.State, row.Account, row.DownloadID, row.Kind = archive.DownloadReady, "a", "d1", archive.MediaVideo
	row.Size, row.ExpiresAt = int64(len(h.data)), time.Now().Add(time.Hour)
	return s, &downloadTask{row: row, url: h.URL + "/secret-link", announced: make(chan struct{}, 1), waitedFor: true}
}

func wantKept(t *testing.T, s *Syncer, data []byte) {
	t.Helper()
	stored, err := s.archive.MediaOf(t.Context(), 7)
	if err != nil || len(stored) != 1 {
		t.Fatalf("recordings: %v, %v", stored, err)
	}
	r, _, err := s.archive.Media().Open(t.Context(), stored[0].SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("the kept file differs: %d bytes, want %d, %v", len(got), len(data), err)
	}
	row, err := s.archive.DownloadOf(t.Context(), 7)
	if err != nil || row.State != archive.DownloadDone {
		t.Errorf("queue: %+v, %v", row, err)
	}
	if _, err := os.Stat(s.archive.PartialPath("7")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the partial file is still there")
	}
}

func TestRecordingIsFetchedWithoutCredentials(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1<<20)
	s, task := testLoader(t, h, true)
	if err := s.downloads.fetch(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, h.data)
	for name := range h.headers[0] {
		switch name {
		case "Accept-Encoding", "User-Agent":
		default:
			t.Errorf("the media host was sent %s", name)
		}
	}
}

// cut ends a body after n bytes, as a broken connection does.
func cut(h *mediaHost, n int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if h.requests.Load() > 1 {
			return false
		}
		w.Header().Set("ETag", h.tag)
		w.Header().Set("Content-Length", fmt.Sprint(len(h.data)))
		_, _ = w.Write(h.data[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestInterruptedFetchIsResumed(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1<<20)
	h.before = cut(h, 600_000)
	s, task := testLoader(t, h, true)
	if err := s.downloads.fetch(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, h.data)
	if len(h.ranges) != 2 || !strings.HasPrefix(h.ranges[1], "bytes=") || h.ranges[1] == "bytes=0-" {
		t.Errorf("ranges asked for: %q", h.ranges)
	}
	if got := h.headers[1].Get("If-Range"); got != h.tag {
		t.Errorf("If-Range = %q, want %q", got, h.tag)
	}
}

func TestResumeAfterRestartHashesWhatIsThere(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1<<20)
	h.before = cut(h, 600_000)
	s, task := testLoader(t, h, true)
	a := s.account("a")
	if err := s.downloads.fetchOnce(t.Context(), a, task); err == nil {
		t.Fatal("a cut body was taken for whole")
	}
	row, err := s.archive.DownloadOf(t.Context(), 7)
	if err != nil || row.Fetched == 0 || row.Validator != h.tag {
		t.Fatalf("after the interruption: %+v, %v", row, err)
	}
	// Bytes behind the durable ones are not trusted.
	f, err := os.OpenFile(s.archive.PartialPath("7"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("left by a crash"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	again := *task
	again.row, again.hasher = row, nil
	if err := s.downloads.fetch(t.Context(), &again); err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, h.data)
}

func TestChangedFileIsFetchedFromItsStart(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string][2]http.Header{
		"by its tag":               {{"Etag": {`"v1"`}}, {"Etag": {`"v2"`}}},
		"by its date":              {{"Last-Modified": {"Mon, 04 May 2026 10:00:00 GMT"}}, {"Last-Modified": {"Tue, 05 May 2026 10:00:00 GMT"}}},
		"If-Range is ignored":      {{"Etag": {`"v1"`}}, {"Etag": {`"v2"`}, "X-Ignores": {"If-Range"}}},
		"and there are only dates": {{"Last-Modified": {"Mon, 04 May 2026 10:00:00 GMT"}}, {"Last-Modified": {"Tue, 05 May 2026 10:00:00 GMT"}, "X-Ignores": {"If-Range"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newMediaHost(t, 100_000)
			h.tag = headers[0].Get("Etag")
			edition, cutAt60 := 0, cut(h, 60_000)
			h.before = func(w http.ResponseWriter, r *http.Request) bool {
				maps.Copy(w.Header(), headers[edition])
				r.Header.Del(w.Header().Get("X-Ignores"))
				if edition > 0 {
					modified, _ := http.ParseTime(w.Header().Get("Last-Modified"))
					http.ServeContent(w, r, "", modified, bytes.NewReader(h.data))
					return true
				}
				return cutAt60(w, r)
			}
			s, task := testLoader(t, h, true)
			if err := s.downloads.fetchOnce(t.Context(), s.account("a"), task); err == nil || task.row.Fetched == 0 {
				t.Fatal("a cut body was taken for whole, or nothing of it kept", err, task.row.Fetched)
			}
			edition = 1
			h.data = append([]byte("another edition"), h.data[15:]...)
			if err := s.downloads.fetch(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			wantKept(t, s, h.data)
		})
	}
}

// TestABlobThatIsDroppedMeanwhileIsFetchedAgain deletes a recording from the
// store between its import and its attachment, as forgetting another meeting with
// the same one can.
func TestABlobThatIsDroppedMeanwhileIsFetchedAgain(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	s, task := testLoader(t, h, true)
	err := s.archive.AttachMedia(t.Context(), 7, archive.MediaVideo, media.Blob{SHA256: strings.Repeat("ab", 32), Size: 1000})
	if !errors.Is(err, archive.ErrNoBlob) || errors.Is(err, archive.ErrNotFound) {
		t.Fatalf("attached without bytes: %v; want ErrNoBlob", err)
	}
	err = s.archive.AttachMedia(t.Context(), 8, archive.MediaVideo, media.Blob{SHA256: strings.Repeat("ab", 32), Size: 1000})
	if errors.Is(err, archive.ErrNotFound) {
		t.Fatalf("of neither: %v; want ErrNoBlob", err)
	}
	dropping := &dropOnce{Store: s.archive.Media()}
	s.downloads.store = dropping
	if err := s.downloads.advance(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, h.data)
}

// dropOnce is a store from which the first blob goes as soon as it is imported.
type dropOnce struct {
	media.Store
	dropped bool
}

func (d *dropOnce) Import(ctx context.Context, path string) (media.Blob, error) {
	b, err := d.Store.Import(ctx, path)
	if err == nil && !d.dropped {
		d.dropped = true
		err = d.Delete(ctx, b.SHA256)
	}
	return b, err
}

// TestAPanicIsTheErrorOfOneRecording breaks a task from inside.
func TestAPanicIsTheErrorOfOneRecording(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	s, task := testLoader(t, h, true)
	s.downloads.publicClient, s.downloads.privateClient = nil, nil // a nil client panics
	if err := s.downloads.advance(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	row, err := s.archive.DownloadOf(t.Context(), 7)
	if err != nil || row.State != archive.DownloadWanted || !strings.Contains(row.Reason, "panic") {
		t.Errorf("after a panic: %+v, %v", row, err)
	}
}

// TestCrashBetweenStoringAndAttaching has a file in the store that the queue's row names. It
// is attached without its link, and deleted where another file came: no meeting would have it.
func TestCrashBetweenStoringAndAttaching(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"the store has it": false, "another file came": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newMediaHost(t, 1000)
			s, task := testLoader(t, h, true)
			stored := h.data
			if lost {
				stored = []byte("generated anew, it has other bytes")
			}
			blob, err := s.archive.Media().Put(t.Context(), bytes.NewReader(stored))
			if err != nil {
				t.Fatal(err)
			}
			task.row.SHA256, task.row.Fetched = blob.SHA256, task.row.Size
			if lost { // the store was away at the start
				err = s.downloads.fetchOnce(t.Context(), s.account("a"), task)
			} else {
				task.row.ExpiresAt, task.row.Account = time.Now().Add(-time.Hour), "removed"
				err = s.downloads.fetch(t.Context(), task)
			}
			if err != nil || (h.requests.Load() > 0) != lost {
				t.Fatalf("error %v after %d requests", err, h.requests.Load())
			}
			wantKept(t, s, h.data)
			if _, err := s.archive.Media().Stat(t.Context(), blob.SHA256); (err != nil) != lost {
				t.Errorf("the file of the crash: %v", err)
			}
		})
	}
}

func TestCrashBetweenAttachingAndTheQueueFetchesNothing(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	s, task := testLoader(t, h, true)
	blob, err := s.archive.Media().Put(t.Context(), bytes.NewReader(h.data))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.archive.AttachMedia(t.Context(), 7, archive.MediaVideo, blob); err != nil {
		t.Fatal(err)
	}
	if err := s.downloads.fetch(t.Context(), task); err != nil || h.requests.Load() != 0 {
		t.Fatalf("error %v after %d requests", err, h.requests.Load())
	}
	wantKept(t, s, h.data)
}
