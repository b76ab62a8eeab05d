package media

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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

// TestAStoreThatIsAskedForLong has somebody ask whose a bucket is for longer than another caller
// waits: the bucket could not be used, and nothing is wrong with its recordings.
func TestAStoreThatIsAskedForLong(t *testing.T) {
	store, err := Open(t.TempDir(), s3test.Start(t).URL("recordings", "p"), bucket.Line{})
	if err != nil {
		t.Fatal(err)
	}
	SetOwner(store, "archive", nil)
	s := store.(*s3Store)
	if err := s.owner.asking.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	if err := s.claim(late, true); !IsUnavailable(err) || !bucket.IsLate(err) {
		t.Errorf("meanwhile: %v", err)
	}
	s.owner.asking.Release(1)
	if err := Check(t.Context(), s); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestAPlaceWithoutTheRecordingsIsNotClaimed opens an empty place for an archive that expects
// recordings. A person gives leave by an empty file; recordings that are there do by themselves.
func TestAPlaceWithoutTheRecordingsIsNotClaimed(t *testing.T) {
	for name, newPlace := range map[string]func(t *testing.T) claimedPlace{
		"directory": func(t *testing.T) claimedPlace {
			dir := t.TempDir()
			id := filepath.Join(dir, "media", OwnerName)
			return claimedPlace{
				open:   func() (Store, error) { return Open(dir, "", bucket.Line{}) },
				leave:  func() error { return errors.Join(os.MkdirAll(filepath.Dir(id), 0o700), os.WriteFile(id, nil, 0o600)) },
				remove: func() error { return os.Remove(id) },
				read:   func() ([]byte, error) { return os.ReadFile(id) },
			}
		},
		"bucket": func(t *testing.T) claimedPlace {
			url := s3test.Start(t).URL("recordings", "p")
			b, err := bucket.Open(url)
			if err != nil {
				t.Fatal(err)
			}
			return claimedPlace{
				open:   func() (Store, error) { return Open(t.TempDir(), url, bucket.Line{}) },
				leave:  func() error { _, err := b.Put(t.Context(), OwnerName, strings.NewReader(""), 0, ""); return err },
				remove: func() error { return b.Remove(t.Context(), OwnerName) },
				read:   func() ([]byte, error) { return b.ReadSmall(t.Context(), OwnerName, 100) },
			}
		},
	} {
		t.Run(name, func(t *testing.T) { newPlace(t).expectGuarded(t) })
	}
}

// claimedPlace is a place for recordings, with the file there that names its owner.
type claimedPlace struct {
	open          func() (Store, error)
	leave, remove func() error // of the file; leave makes it empty
	read          func() ([]byte, error)
}

func (p claimedPlace) expectGuarded(t *testing.T) {
	open := func(expected string) Store {
		s, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		SetOwner(s, "one", func(_ context.Context, prefix string) (bool, error) { return strings.HasPrefix(expected, prefix), nil })
		return s
	}
	absent := strings.Repeat("0", 64)
	away := open(absent)
	for what, err := range map[string]error{"check": Check(t.Context(), away), "delete": away.Delete(t.Context(), absent),
		"stat": func() error { _, err := away.Stat(t.Context(), absent); return err }(), "open": func() error { _, _, err := away.Open(t.Context(), absent); return err }()} {
		if !IsUnavailable(err) || !strings.Contains(err.Error(), "create an empty") || !strings.Contains(err.Error(), OwnerName) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := errors.Join(p.leave(), Check(t.Context(), away)); err != nil {
		t.Error(err)
	}
	blob := putBlob(t, away, "a recording")
	for expected, claimed := range map[string]bool{blob.SHA256: true, absent: false} {
		if err := p.remove(); err != nil {
			t.Fatal(err)
		}
		if err := Check(t.Context(), open(expected)); (err == nil) != claimed {
			t.Errorf("with a recording that is there, %t: %v", claimed, err)
		}
		if content, err := p.read(); claimed && (err != nil || string(content) != "one\n") || !claimed && err == nil {
			t.Errorf("with a recording that is there, %t: %q, %v", claimed, content, err)
		}
		if err := p.leave(); err != nil {
			t.Fatal(err)
		}
	}
}
