package syncer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/outbound"
)

// TestAPartThatDoesNotFitIsRefused has a media host answer the second request with
// a part that does not go on where the first one ended, or of another edition,
// but that has the right length.
func TestAPartThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]func(h *mediaHost, from int) (part, tag string){
		"from elsewhere": func(h *mediaHost, from int) (string, string) {
			return fmt.Sprintf("bytes %d-%d/%d", from-1000, len(h.data)-1001, len(h.data)), h.tag
		},
		"of another size": func(h *mediaHost, from int) (string, string) {
			return fmt.Sprintf("bytes %d-%d/%d", from, len(h.data)-1, len(h.data)+1), h.tag
		},
		"without a place": func(h *mediaHost, from int) (string, string) { return "", h.tag },
		"another edition": func(h *mediaHost, from int) (string, string) {
			return fmt.Sprintf("bytes %d-%d/%d", from, len(h.data)-1, len(h.data)), `"v2"`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newMediaHost(t, 1<<20)
			first := cut(h, 600_000)
			h.before = func(w http.ResponseWriter, r *http.Request) bool {
				var from int
				if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 0 || h.requests.Load() != 2 {
					return first(w, r)
				}
				part, tag := header(h, from)
				w.Header().Set("Content-Range", part)
				w.Header().Set("ETag", tag)
				w.Header().Set("Content-Length", fmt.Sprint(len(h.data)-from))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(h.data[from-1000 : len(h.data)-1000])
				return true
			}
			s, task := testLoader(t, h, true)
			if err := s.downloads.fetch(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			wantKept(t, s, h.data)
			if n := h.requests.Load(); n != 3 {
				t.Errorf("%d requests; want the cut one, the refused one and a whole one", n)
			}
		})
	}
}

// TestAbsurdSizesAreRefused gives sizes that no recording has, in the service's
// answer and as an earlier version has saved them.
func TestAbsurdSizesAreRefused(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, -4, -1 << 63, 1<<63 - 1} {
		h := newMediaHost(t, 1000)
		s, task := testLoader(t, h, true)
		d := &api.Download{RecordingID: 7, DownloadID: "d1", Status: api.DownloadCompleted, Video: api.Some(api.DownloadFile{
			URL: h.URL, ContentType: "video/mp4", FileSizeBytes: size, ExpiresAt: api.TimeOf(time.Now().Add(time.Hour))})}
		if err := s.downloads.applyStatus(t.Context(), task, d); err == nil || !strings.Contains(err.Error(), fmt.Sprint(size)) {
			t.Errorf("a size of %d: %v", size, err)
		}
		h.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.(http.Flusher).Flush() // chunked: no length
			return false
		}
		task.row.Size = size
		if err := s.downloads.advance(t.Context(), task); err != nil {
			t.Errorf("a saved size of %d: %v", size, err)
		}
		row, err := s.archive.DownloadOf(t.Context(), 7)
		if err != nil || row.State != archive.DownloadWanted || row.Failures != 1 {
			t.Errorf("a saved size of %d leaves %+v, %v", size, row, err)
		}
	}
}

func TestWrongContentIsNeverKept(t *testing.T) {
	t.Parallel()
	tests := map[string]func(h *mediaHost) func(http.ResponseWriter, *http.Request) bool{
		"too long": func(h *mediaHost) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, _ *http.Request) bool {
				w.(http.Flusher).Flush() // chunked: no length
				_, _ = w.Write(append(bytes.Clone(h.data), 'x'))
				return true
			}
		},
		"other length": func(*mediaHost) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = io.WriteString(w, "<html>sorry</html>")
				return true
			}
		},
		"other digest": func(*mediaHost) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Repr-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:")
				return false
			}
		},
		"other digest, and a connection that breaks after the last byte": func(h *mediaHost) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Repr-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:")
				w.(http.Flusher).Flush() // chunked: no length
				_, _ = w.Write(h.data)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		},
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			h := newMediaHost(t, 300_000)
			h.before = before(h)
			s, task := testLoader(t, h, true)
			err := s.downloads.fetch(t.Context(), task)
			if !errors.Is(err, errContent) {
				t.Fatalf("error %v, want errContent", err)
			}
			if strings.Contains(err.Error(), "secret-link") {
				t.Errorf("the error names the link: %v", err)
			}
			if stored, err := s.archive.MediaOf(t.Context(), 7); err != nil || len(stored) != 0 {
				t.Errorf("kept: %v, %v", stored, err)
			}
		})
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	s, task := testLoader(t, h, false)
	err := s.downloads.fetch(t.Context(), task)
	if !errors.Is(err, outbound.ErrNotGlobal) || h.requests.Load() != 0 {
		t.Fatalf("error %v after %d requests", err, h.requests.Load())
	}
	if strings.Contains(err.Error(), "secret-link") {
		t.Errorf("the error names the link: %v", err)
	}
}

func TestRefusedLinkGoesBackIntoTheQueue(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	h.before = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	s, task := testLoader(t, h, true)
	if err := s.downloads.fetch(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	row, err := s.archive.DownloadOf(t.Context(), 7)
	if err != nil || row.State != archive.DownloadWanted || row.Lapsed != 1 || task.url != "" {
		t.Errorf("queue: %+v, %v", row, err)
	}
}

func TestDiskFloorStopsFetches(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	s, task := testLoader(t, h, true)
	s.opt.MinFree = 1 << 62
	err := s.downloads.fetch(t.Context(), task)
	var room *lowDiskError
	if !errors.As(err, &room) || h.requests.Load() != 0 {
		t.Fatalf("error %v after %d requests", err, h.requests.Load())
	}
}
