package syncer

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"testing"
)

// TestADigestIsCheckedAfterARestart has a media host announce a digest, break off and then
// complete the file for another process, without announcing it again.
func TestADigestIsCheckedAfterARestart(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]bool{"this file's": false, "another file's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newMediaHost(t, 1<<20)
			sum := sha256.Sum256(h.data)
			if other {
				sum[31]++
			}
			first := cut(h, 600_000)
			h.before = func(w http.ResponseWriter, r *http.Request) bool {
				if h.requests.Load() == 1 {
					w.Header().Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
				}
				return first(w, r)
			}
			s, task := testLoader(t, h, true)
			if err := s.downloads.fetchOnce(t.Context(), s.account("a"), task); err == nil {
				t.Fatal("a cut body was taken for whole")
			}
			row, err := s.archive.DownloadOf(t.Context(), 7)
			if err != nil {
				t.Fatal(err)
			}
			again := &downloadTask{row: row, url: task.url, announced: make(chan struct{}, 1)}
			err = s.downloads.fetchOnce(t.Context(), s.account("a"), again)
			if got := h.headers[1].Get("If-Range"); got != h.tag {
				t.Errorf("If-Range = %q, want %q", got, h.tag)
			}
			if other {
				wantThrownAway(t, s, again, err)
			} else if err != nil {
				t.Fatal(err)
			} else {
				wantKept(t, s, h.data)
			}
		})
	}
}

// TestADigestIsCheckedOfAWholeFile has a process end just after the last byte was saved.
func TestADigestIsCheckedOfAWholeFile(t *testing.T) {
	t.Parallel()
	h := newMediaHost(t, 1000)
	s, task := testLoader(t, h, true)
	if err := os.WriteFile(s.archive.PartialPath("7"), h.data, 0o600); err != nil {
		t.Fatal(err)
	}
	task.row.Fetched, task.row.Validator = task.row.Size, h.tag+" sha-256=AAAA"
	wantThrownAway(t, s, task, s.downloads.fetchOnce(t.Context(), s.account("a"), task))
	if n := h.requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func wantThrownAway(t *testing.T, s *Syncer, task *downloadTask, err error) {
	t.Helper()
	if !errors.Is(err, errContent) || task.row.Fetched != 0 || task.row.Validator != "" {
		t.Errorf("error %v, want errContent; the row is %+v", err, task.row)
	}
	if stored, err := s.archive.MediaOf(t.Context(), 7); err != nil || len(stored) != 0 {
		t.Errorf("kept: %v, %v", stored, err)
	}
}

// FuzzValidator: the headers of a media host are kept, and read back, as they were.
func FuzzValidator(f *testing.F) {
	f.Add(`"abc"`, "Wed, 15 Oct 2025 17:32:26 GMT", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", "")
	f.Add(`W/"abc"`, "", "", "md5=x, SHA-256=47DEQpj8HBSa")
	f.Add(`"a sha-256=b"`, "soon sha-256=", ",=,sha-256", "sha-256=:a:")
	f.Add("a", `"b"`, "", "")
	f.Fuzz(func(t *testing.T, tag, date, digest, older string) {
		h := http.Header{"Etag": {tag}, "Last-Modified": {date}, "Repr-Digest": {digest}, "Digest": {older}}
		version, announced := readVersion(h, "download"), readDigest(h)
		if v, d := splitValidator(joinValidator(version, announced)); v != version || d != announced {
			t.Errorf("%q and %q are read back as %q and %q", version, announced, v, d)
		}
		if isOtherVersion(h, version) {
			t.Errorf("%q has another version than %q", h, version)
		}
	})
}
