package media

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"minutebook/internal/bucket"
	"minutebook/internal/s3test"
)

// TestAnotherArchiveIsRefused opens one place for recordings by two archives.
func TestAnotherArchiveIsRefused(t *testing.T) {
	server := s3test.Start(t)
	for name, mediaURL := range map[string]string{"bucket": server.URL("recordings", "p"), "directory": "file://" + t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			open := func(mediaURL, archive string) Store {
				t.Helper()
				dir := t.TempDir()
				s, err := Open(dir, mediaURL, bucket.Line{})
				if err != nil {
					t.Fatal(err)
				}
				SetOwner(s, dir, archive)
				return s
			}
			first := open(mediaURL, "one")
			blob := putBlob(t, first, "a recording")
			other := open(mediaURL, "two")
			_, put := other.Put(t.Context(), strings.NewReader("another"))
			for what, err := range map[string]error{
				"put": put, "delete": other.Delete(t.Context(), blob.SHA256), "check": Check(t.Context(), other),
				"walk": other.Walk(t.Context(), func(Blob) error { return nil }),
			} {
				if !IsUnavailable(err) || !strings.Contains(err.Error(), "another archive") || !strings.Contains(err.Error(), "archive-id") {
					t.Errorf("%s: %v", what, err)
				}
			}
			again := open(mediaURL, "one") // such as after a restore
			if err := errors.Join(Check(t.Context(), again), readBlob(t, again, blob)); err != nil {
				t.Errorf("the same archive: %v", err)
			}
		})
	}
}

// TestOneOfTwoClaimsAPlace lets archives claim a place at the same time.
func TestOneOfTwoClaimsAPlace(t *testing.T) {
	mediaURL := s3test.Start(t).URL("recordings", "p")
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i := range errs {
		dir := t.TempDir()
		s, err := Open(dir, mediaURL, bucket.Line{})
		if err != nil {
			t.Fatal(err)
		}
		SetOwner(s, dir, string(rune('a'+i)))
		all.Go(func() { errs[i] = Check(t.Context(), s) })
	}
	all.Wait()
	owners := 0
	for _, err := range errs {
		if err == nil {
			owners++
		} else if !IsUnavailable(err) {
			t.Error(err)
		}
	}
	if owners != 1 {
		t.Errorf("%d archives own the place: %v", owners, errs)
	}
}
