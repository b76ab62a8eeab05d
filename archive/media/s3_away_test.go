package media

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"minutebook/internal/bucket"
	"minutebook/internal/s3test"
)

// TestAwayBucketSaysNothingOfBlobs lets a server fail in every way. No failure looks
// like a blob that is absent, each names the bucket and the remedy, and when the server
// works again the store does.
func TestAwayBucketSaysNothingOfBlobs(t *testing.T) {
	var fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request, server http.Handler)]
	server := s3test.Start(t).Behind(t, func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f := fault.Load(); f != nil {
				(*f)(w, r, server)
				return
			}
			server.ServeHTTP(w, r)
		})
	})
	s, err := openS3(server.URL("recordings", "p"), t.TempDir(), bucket.Line{})
	if err != nil {
		t.Fatal(err)
	}
	blob := putBlob(t, s, strings.Repeat("a recording ", 100))
	refuse := func(status int, code string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { s3test.Refuse(w, status, code) }
	}
	for name, away := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request, http.Handler)
		says  string
	}{
		"no bucket":    {refuse(http.StatusNotFound, "NoSuchBucket"), "make the bucket"},
		"wrong key":    {refuse(http.StatusForbidden, "InvalidAccessKeyId"), "correct the credentials"},
		"wrong secret": {refuse(http.StatusForbidden, "SignatureDoesNotMatch"), "correct the credentials"},
		"no right":     {refuse(http.StatusForbidden, "AccessDenied"), "give the user"},
		"wrong clock":  {refuse(http.StatusForbidden, "RequestTimeTooSkewed"), "set this machine's clock"},
		"busy":         {refuse(http.StatusServiceUnavailable, "SlowDown"), "503"},
		"broken":       {refuse(http.StatusInternalServerError, "InternalError"), "500"},
		"half an answer": {func(w http.ResponseWriter, r *http.Request, server http.Handler) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, blob.SHA256) {
				server.ServeHTTP(w, r)
				return
			}
			server.ServeHTTP(&shortened{w}, r)
		}, "600 of 1200 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			fault.Store(&away.fault)
			err := readBlob(t, s, blob)
			if !IsUnavailable(err) || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "bucket recordings at 127.0.0.1") || !strings.Contains(err.Error(), away.says) {
				t.Errorf("read: %v", err)
			}
			if name != "half an answer" {
				if _, err := s.Put(t.Context(), strings.NewReader("another")); !IsUnavailable(err) {
					t.Errorf("put: %v", err)
				}
				if err := Check(t.Context(), s); !IsUnavailable(err) || strings.Contains(err.Error(), os.Getenv("AWS_SECRET_ACCESS_KEY")) {
					t.Errorf("check: %v", err)
				}
			}
			fault.Store(nil)
			if err := readBlob(t, s, blob); err != nil {
				t.Errorf("when the server works again: %v", err)
			}
		})
	}
}

// shortened sends half of a body and says that this is all.
type shortened struct{ http.ResponseWriter }

func (s *shortened) WriteHeader(status int) {
	s.Header().Set("Content-Length", "600")
	s.Header().Del("Content-Range")
	s.ResponseWriter.WriteHeader(status)
}

func (s *shortened) Write(b []byte) (int, error) {
	_, err := s.ResponseWriter.Write(b[:min(len(b), 600)])
	return len(b), err
}

func readBlob(t *testing.T, s Store, b Blob) error {
	t.Helper()
	r, _, err := s.Open(t.Context(), b.SHA256)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err == nil && int64(len(got)) != b.Size {
		t.Errorf("read %d bytes of %d", len(got), b.Size)
	}
	return err
}

// TestRefusedCredentialsAreReadAgain changes the shared credentials file while the
// store is open.
func TestRefusedCredentialsAreReadAgain(t *testing.T) {
	server := s3test.Start(t)
	key, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	file := filepath.Join(t.TempDir(), "credentials")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	write := func(secret string) {
		text := "[default]\naws_access_key_id = " + key + "\naws_secret_access_key = " + secret + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("an old secret")
	s, err := openS3(server.URL("recordings", "p"), t.TempDir(), bucket.Line{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), s); !IsUnavailable(err) {
		t.Fatalf("with an old secret: %v", err)
	}
	write(secret)
	if err := Check(t.Context(), s); err != nil {
		t.Errorf("after the file has changed: %v", err)
	}
}
