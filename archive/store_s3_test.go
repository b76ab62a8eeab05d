package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minutebook/internal/s3test"
)

func TestS3StoreConforms(t *testing.T) {
	server := s3test.Start(t)
	n := 0
	testStore(t, func(t *testing.T) Store {
		n++
		partial := t.TempDir()
		s, err := openS3(t.Context(), server.URL("recordings", fmt.Sprint("a prefix/", n)), partial)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if left, _ := os.ReadDir(partial); len(left) > 0 {
				t.Errorf("left %d files here", len(left))
			}
		})
		return s
	})
	if _, err := openS3(t.Context(), server.URL("elsewhere", ""), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no bucket elsewhere") {
		t.Errorf("a bucket that is not there: %v", err)
	}
}

func TestMediaURLs(t *testing.T) {
	dir := t.TempDir()
	for mediaURL, want := range map[string]string{
		"s3://":                             "not s3://bucket/prefix",
		"s3://key:secret@bucket/x":          "holds credentials",
		"s3://bucket?endpiont=x":            `unknown parameter "endpiont"`,
		"s3://bucket?endpoint=localhost":    "not an http or https URL",
		"ftp://host/path":                   "not a scheme known here",
		"file://host/path":                  "not file:///path",
		"file:":                             "",
		"file://" + filepath.Join(dir, "m"): "",
	} {
		_, err := openStore(t.Context(), dir, mediaURL)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", mediaURL, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: the error tells the secret", mediaURL)
		}
	}
}
