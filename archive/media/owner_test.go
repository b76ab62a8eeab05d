package media

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
				SetOwner(s, archive, nil)
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
		SetOwner(s, string(rune('a'+i)), nil)
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

// TestAPlaceWithoutTheRecordingsIsNotClaimed opens an empty directory for an archive that expects
// recordings. A person gives leave by an empty file; recordings that are there do by themselves.
func TestAPlaceWithoutTheRecordingsIsNotClaimed(t *testing.T) {
	dir := t.TempDir()
	open := func(expected string) Store {
		s, err := Open(dir, "", bucket.Line{})
		if err != nil {
			t.Fatal(err)
		}
		SetOwner(s, "one", func(_ context.Context, prefix string) (bool, error) { return strings.HasPrefix(expected, prefix), nil })
		return s
	}
	id, absent := filepath.Join(dir, "media", OwnerName), strings.Repeat("0", 64)
	away := open(absent)
	for what, err := range map[string]error{"check": Check(t.Context(), away), "delete": away.Delete(t.Context(), absent), "stat": func() error { _, err := away.Stat(t.Context(), absent); return err }()} {
		if !IsUnavailable(err) || !strings.Contains(err.Error(), "create an empty file archive-id") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(id), 0o700), os.WriteFile(id, nil, 0o600), Check(t.Context(), away)); err != nil {
		t.Error(err)
	}
	blob := putBlob(t, away, "a recording")
	for expected, claimed := range map[string]bool{blob.SHA256: true, absent: false} {
		if err := os.Remove(id); err != nil {
			t.Fatal(err)
		}
		if err := Check(t.Context(), open(expected)); (err == nil) != claimed {
			t.Errorf("with a recording that is there, %t: %v", claimed, err)
		}
		if content, err := os.ReadFile(id); claimed && (err != nil || string(content) != "one\n") || !claimed && err == nil {
			t.Errorf("with a recording that is there, %t: %q, %v", claimed, content, err)
		}
		if err := os.WriteFile(id, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
