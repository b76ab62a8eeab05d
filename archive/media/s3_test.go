package media

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/bucket"
	"minutebook/internal/s3test"
)

func TestS3StoreConforms(t *testing.T) {
	server := s3test.Start(t)
	n := 0
	testStore(t, func(t *testing.T) Store {
		n++
		local := t.TempDir()
		s, err := openS3(server.URL("recordings", fmt.Sprint("a prefix/", n)), local, bucket.Line{})
		if err != nil {
			t.Fatal(err)
		}
		s.bucket.PartSize = testPart
		t.Cleanup(func() {
			if left, _ := os.ReadDir(filepath.Join(local, partialDir)); len(left) > 0 {
				t.Errorf("left %d files here", len(left))
			}
		})
		return s
	})
	elsewhere, err := openS3(server.URL("elsewhere", ""), t.TempDir(), bucket.Line{})
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
	server := s3test.Start(t)
	store, err := openS3(server.URL("recordings", "p"), t.TempDir(), bucket.Line{})
	if err != nil {
		t.Fatal(err)
	}
	if KeepsVersions(t.Context(), store) {
		t.Error("a new bucket keeps versions")
	}
	store.bucket.PartSize = testPart
	content := bytes.Repeat([]byte("recording "), testPart/8)
	sha := fmt.Sprintf("%x", sha256.Sum256(content))
	for name, end := range map[string]func() error{
		"deleted": func() error { return store.Delete(t.Context(), sha) },
		"stored":  func() error { _, err := store.Put(t.Context(), bytes.NewReader(content)); return err },
		"started": func() error { return Sweep(t.Context(), store, time.Now().Add(staleUpload+time.Hour)) },
	} {
		if err := store.Delete(t.Context(), sha); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{store.bucket.Key(store.key(sha)), "another/" + sha} {
			server.LeavePart(t, key, content[:testPart])
		}
		if err := Sweep(t.Context(), store, time.Now()); err != nil || len(server.Uploads(t)) != 2 {
			t.Fatalf("%s: open are %q, want 2 that are young, %v", name, server.Uploads(t), err)
		}
		if err := end(); err != nil || !slices.Equal(server.Uploads(t), []string{"another/" + sha}) {
			t.Errorf("%s: open are %q, want the foreign one, %v", name, server.Uploads(t), err)
		}
		server.Abort(t, "another/"+sha)
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
		_, err := Open(dir, mediaURL, bucket.Line{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", mediaURL, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error tells the secret", mediaURL)
		}
	}
}
