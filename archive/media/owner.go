package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/semaphore"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// OwnerName is the object or file of a store that holds the identity of the archive whose
// recordings are there. To another archive they belong to no meeting, and its repair and
// retention rules could remove them. Where the file is missing, the disk with the recordings may
// not be mounted.
const OwnerName = "archive-id"

// owner is the archive that may use a store.
type owner struct {
	identity string              // "" where nobody asks
	expects  Expects             // nil: nothing
	asking   *semaphore.Weighted // of 1; held while the store is asked
	owned    bool                // a bucket has said so
}

// Expects reports whether an archive has, or still has to delete, a blob whose SHA-256 begins
// with a prefix; for an empty one also whether it has used the store before.
type Expects func(ctx context.Context, prefix string) (bool, error)

// SetOwner names the archive that may change a store. The first use claims a store that has no
// owner, unless the archive expects blobs in it and none is there.
// Check, Walk and all changes fail with an [UnavailableError] then and where another archive is
// the owner; so does looking for a blob that is missing.
func SetOwner(s Store, identity string, expects Expects) {
	o := owner{identity: identity, expects: expects, asking: semaphore.NewWeighted(1)}
	switch s := s.(type) {
	case *s3Store:
		s.owner = o
	case *fileStore:
		s.owner = o
	}
}

// awaitTurn waits until nobody else asks a store. It fails with an [UnavailableError] for a
// caller whose time ends meanwhile.
func (o *owner) awaitTurn(ctx context.Context, store string) error {
	err := o.asking.Acquire(ctx, 1)
	if errors.Is(err, context.DeadlineExceeded) {
		return &UnavailableError{Store: store, Err: fmt.Errorf("it is still being asked whose recordings it keeps: %w", err)}
	}
	return err
}

// GiveToOwner gives the recordings that root has stored outside of the data directory, where a
// link or media.url leads, to the owner of the data directory.
func GiveToOwner(s Store, dataDir string) error {
	names := []string{OwnerName, partialDir, quarantineDir, "[0-9a-f][0-9a-f]"}
	err := durable.GiveOutside(dataDir, localDir(dataDir), nil, names...)
	if files, ok := s.(*fileStore); ok && files.dir != localDir(dataDir) {
		err = errors.Join(err, durable.GiveOutside(dataDir, files.dir, files.made, names...))
	}
	return err
}

// foreign is the failure of a store that another archive owns.
func foreign(store, place string) error {
	return &UnavailableError{Store: store, Err: errors.New("it keeps the recordings of another archive"),
		Hint: "give each archive a place of its own in media.url, or delete " + place + " if the other archive is no more"}
}

// claim fails where another archive owns the prefix, and where it is not the one that this
// archive owns, such as that of a wrong address. It asks once, and again on demand. An empty object
// is a person's leave to claim the prefix.
func (s *s3Store) claim(ctx context.Context, again bool) error {
	o := &s.owner
	if o.identity == "" {
		return nil
	}
	if err := o.awaitTurn(ctx, s.bucket.String()); err != nil {
		return err
	}
	defer o.asking.Release(1)
	if o.owned && !again {
		return nil
	}
	read := func() (string, error) {
		content, err := s.bucket.ReadSmall(ctx, OwnerName, 1<<10)
		return strings.TrimSpace(string(content)), err
	}
	is, err := read()
	content := []byte(o.identity + "\n")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err = o.findExpected(ctx, s); err == nil {
			_, err = s.bucket.Create(ctx, OwnerName, content)
		}
	case err == nil && is == "":
		_, err = s.bucket.Put(ctx, OwnerName, bytes.NewReader(content), int64(len(content)), "application/octet-stream")
	}
	if err == nil && is == "" {
		is, err = read() // another archive may have come first
	}
	if o.owned = err == nil && is == o.identity; err != nil {
		return fmt.Errorf("look whose recordings these are: %w", err)
	}
	if !o.owned {
		return foreign(s.bucket.String(), s.bucket.Key(OwnerName))
	}
	return nil
}

// claim fails where another archive owns the directory, and where it is not the one that this
// archive owns, such as the mount point of a disk that is away. It asks each time: a disk can go
// away at any moment. An empty file is a person's leave to claim the directory.
func (s *fileStore) claim(ctx context.Context) error {
	o, path := &s.owner, filepath.Join(s.dir, OwnerName)
	if o.identity == "" {
		return nil
	}
	if err := o.awaitTurn(ctx, "recordings in "+s.dir); err != nil {
		return err
	}
	defer o.asking.Release(1)
	is, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = o.findExpected(ctx, s); err == nil {
			err = s.make()
		}
	}
	if err == nil && len(bytes.TrimSpace(is)) == 0 {
		if err = durable.WriteFile(path, []byte(o.identity+"\n")); err == nil {
			is, err = os.ReadFile(path) // another archive may have come first
		}
	}
	_, ofFile := errors.AsType[*fs.PathError](err)
	switch {
	case errors.Is(sqlite.WrapDiskFull(err), sqlite.ErrDiskFull):
		return nil // so that recordings can be deleted there
	case IsUnavailable(err):
		return err
	case ofFile:
		return s.away(err)
	case err != nil:
		return fmt.Errorf("look whose recordings these are: %w", err)
	case strings.TrimSpace(string(is)) != o.identity:
		return foreign("recordings in "+s.dir, path)
	}
	return nil
}

// findExpected fails where the archive expects blobs in a store without an owner, and none is
// there.
func (o *owner) findExpected(ctx context.Context, s interface {
	walk(ctx context.Context, fn func(Blob) error) error
	away(reason error) error
}) error {
	if o.expects == nil {
		return nil
	}
	if expected, err := o.expects(ctx, ""); err != nil || !expected {
		return err
	}
	err := s.walk(ctx, func(b Blob) error {
		found, err := o.expects(ctx, b.SHA256)
		if err == nil && found {
			err = errFound
		}
		return err
	})
	switch {
	case errors.Is(err, errFound):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return s.away(fmt.Errorf("it has no %s and no recording of the archive", OwnerName))
}

// errFound ends a walk.
var errFound = errors.New("found")

// away makes an [UnavailableError] of the reason why a directory cannot be the one that it was.
func (s *fileStore) away(reason error) error {
	return &UnavailableError{Store: "recordings in " + s.dir, Err: reason, Hint: "mount its file system, or correct media.url and restart; " +
		"if the recordings are lost, create an empty file " + OwnerName + " there, and run verify --repair"}
}

// away makes an [UnavailableError] of the reason why a prefix cannot be the one that it was.
func (s *s3Store) away(reason error) error {
	return &UnavailableError{Store: s.bucket.String(), Err: reason, Hint: "correct media.url and restart; " +
		"if the recordings are lost, create an empty object " + s.bucket.Key(OwnerName) + " there, and run verify --repair"}
}
