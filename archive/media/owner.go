package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/semaphore"

	"minutebook/internal/durable"
)

// OwnerName is the object or file of a store outside of a data directory that holds
// the identity of the archive whose recordings are there. To another archive they
// belong to no meeting, and its repair and retention rules could remove them.
const OwnerName = "archive-id"

// errForeign is the failure of a store that another archive owns.
var errForeign = errors.New("it keeps the recordings of another archive")

// owner is the archive that may use a store.
type owner struct {
	identity string              // "" where nobody asks
	asking   *semaphore.Weighted // of 1; held while the store is asked
	owned    bool                // the store has said so
}

// SetOwner names the archive that may change a store outside of the data directory.
// The first use claims a store that has no owner. Check, Walk and all changes fail with
// an [UnavailableError] where another archive is the owner.
func SetOwner(s Store, dataDir, identity string) {
	if !IsOutside(s, dataDir) {
		return
	}
	switch s := s.(type) {
	case *s3Store:
		s.owner = owner{identity: identity, asking: semaphore.NewWeighted(1)}
	case *fileStore:
		s.owner = owner{identity: identity, asking: semaphore.NewWeighted(1)}
	}
}

// GiveToOwner gives the recordings that root has stored outside of the data directory, where a
// link or media.url leads, to the owner of the data directory.
func GiveToOwner(s Store, dataDir string) error {
	names := []string{OwnerName, partialDir, quarantineDir, "[0-9a-f][0-9a-f]"}
	err := durable.GiveOutside(dataDir, localDir(dataDir), nil, names...)
	if files, ok := s.(*fileStore); ok && IsOutside(s, dataDir) {
		err = errors.Join(err, durable.GiveOutside(dataDir, files.dir, files.made, names...))
	}
	return err
}

// claim asks once for the owner. read returns the store's owner, "" where there is
// none. write stores it unless there is one.
func (o *owner) claim(ctx context.Context, read func() (string, error), write func(content []byte) error) error {
	if o.identity == "" {
		return nil
	}
	if err := o.asking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer o.asking.Release(1)
	if o.owned {
		return nil
	}
	is, err := read()
	if err == nil && is == "" {
		if err = write([]byte(o.identity + "\n")); err == nil {
			is, err = read() // another archive may have come first
		}
	}
	if err != nil {
		return fmt.Errorf("look whose recordings these are: %w", err)
	}
	if is != o.identity {
		return errForeign
	}
	o.owned = true
	return nil
}

// foreign makes an [UnavailableError] of errForeign and returns other errors as they are.
func foreign(err error, store, place string) error {
	if !errors.Is(err, errForeign) {
		return err
	}
	return &UnavailableError{Store: store, Err: err,
		Hint: "give each archive a place of its own in media.url, or delete " + place + " if the other archive is no more"}
}

// claim fails where another archive owns the prefix.
func (s *s3Store) claim(ctx context.Context) error {
	read := func() (string, error) {
		content, err := s.bucket.ReadSmall(ctx, OwnerName, 1<<10)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return strings.TrimSpace(string(content)), err
	}
	err := s.owner.claim(ctx, read, func(content []byte) error { _, err := s.bucket.Create(ctx, OwnerName, content); return err })
	return foreign(err, s.bucket.String(), s.bucket.Key(OwnerName))
}

// claim fails where another archive owns the directory.
func (s *fileStore) claim(ctx context.Context) error {
	path := filepath.Join(s.dir, OwnerName)
	read := func() (string, error) {
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return strings.TrimSpace(string(content)), err
	}
	err := s.owner.claim(ctx, read, func(content []byte) error { return durable.WriteFile(path, content) })
	return foreign(err, "recordings in "+s.dir, path)
}
