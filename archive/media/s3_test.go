package media

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"minutebook/internal/s3test"
)

func TestS3StoreConforms(t *testing.T) {
	server := s3test.Start(t)
	n := 0
	testStore(t, func(t *testing.T) Store {
		n++
		partial := t.TempDir()
		s, err := openS3(server.URL("recordings", fmt.Sprint("a prefix/", n)), partial)
		if err != nil {
			t.Fatal(err)
		}
		s.part = testPart
		t.Cleanup(func() {
			if left, _ := os.ReadDir(partial); len(left) > 0 {
				t.Errorf("left %d files here", len(left))
			}
		})
		return s
	})
	elsewhere, err := openS3(server.URL("elsewhere", ""), t.TempDir())
	if err == nil {
		err = Check(t.Context(), elsewhere)
	}
	if err == nil || !strings.Contains(err.Error(), "bucket elsewhere at 127.0.0.1") || !strings.Contains(err.Error(), "make the bucket") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

// TestPartsOfACrashedUploadGo leaves parts in the bucket as a crash does. Deleting
// the blob removes them, storing it too, and a start once they are a day old.
func TestPartsOfACrashedUploadGo(t *testing.T) {
	store, err := openS3(s3test.Start(t).URL("recordings", "p"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store.part = testPart
	content := bytes.Repeat([]byte("recording "), testPart/8)
	sha := fmt.Sprintf("%x", sha256.Sum256(content))
	parts := func() (n int) {
		for u := range store.client.ListIncompleteUploads(t.Context(), "recordings", "", true) {
			if u.Err != nil {
				t.Fatal(u.Err)
			}
			n++
		}
		return n
	}
	for name, end := range map[string]func() error{
		"deleted": func() error { return store.Delete(t.Context(), sha) },
		"stored":  func() error { _, err := store.Put(t.Context(), bytes.NewReader(content)); return err },
		"started": func() error { return store.sweepUploads(t.Context(), time.Now().Add(time.Hour)) },
	} {
		if err := store.Delete(t.Context(), sha); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{store.key(sha), "another/" + sha} {
			id, err := store.client.NewMultipartUpload(t.Context(), "recordings", key, minio.PutObjectOptions{})
			if err == nil {
				_, err = store.client.PutObjectPart(t.Context(), "recordings", key, id, 1, bytes.NewReader(content[:testPart]), testPart, minio.PutObjectPartOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := store.sweepUploads(t.Context(), time.Now().Add(-time.Hour)); err != nil || parts() != 2 {
			t.Fatalf("%s: %d uploads are open, want 2 that are young, %v", name, parts(), err)
		}
		if err := end(); err != nil || parts() != 1 {
			t.Errorf("%s: %d uploads are open, want the foreign one, %v", name, parts(), err)
		}
		if err := store.abort(t.Context(), "another/"+sha); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMediaURLs(t *testing.T) {
	dir := t.TempDir()
	for mediaURL, want := range map[string]string{
		"s3://":                             "not s3://bucket/prefix",
		"s3://key:secret@bucket/x":          "holds credentials",
		"s3://bucket?endpiont=x":            `unknown parameter "endpiont"`,
		"s3://bucket?endpoint=localhost":    "not an http or https URL",
		"ftp://host/path":                   "not a known scheme",
		"file://host/path":                  "not file:///path",
		"file:":                             "",
		"file://" + filepath.Join(dir, "m"): "",
	} {
		_, err := Open(dir, mediaURL)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", mediaURL, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error tells the secret", mediaURL)
		}
	}
}
