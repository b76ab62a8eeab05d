package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"minutebook/internal/durable"
	"minutebook/internal/seal"
	"minutebook/internal/sqlite"
)

// fileStore keeps blobs as DIR/ab/abcdef… with mode 0400, and unfinished files in
// DIR/partial.
type fileStore struct {
	dir   string
	local string      // in the data directory, where interrupted downloads are: see [PartialPath]
	made  fs.FileInfo // of dir, where this process has made it
	owner owner
}

// openFiles opens the store in a directory, which is made when the archive claims it: the disk
// may be away, and its mount point stays as it is.
func openFiles(dir, local string) *fileStore { return &fileStore{dir: dir, local: local} }

// make makes the directory.
func (s *fileStore) make() error {
	if _, err := os.Stat(s.dir); err == nil {
		return nil
	}
	if err := durable.MkdirAll(s.dir); err != nil {
		return err
	}
	s.made, _ = os.Lstat(s.dir) // without which nothing more than the folder stays root's
	return nil
}

// makePartial makes the folder of unfinished files in a directory that has been claimed.
func makePartial(dir string) error {
	err := sqlite.WrapDiskFull(durable.MkdirAll(filepath.Join(dir, partialDir)))
	if err == nil || errors.Is(err, sqlite.ErrDiskFull) {
		return err
	}
	return &UnavailableError{Store: "unfinished recordings in " + dir, Err: err, Hint: "mount its file system, or make the folder"}
}

func (s *fileStore) path(sha string) string { return filepath.Join(s.dir, sha[:2], sha) }

// Put is part of [Store].
func (s *fileStore) Put(ctx context.Context, r io.Reader) (_ Blob, err error) {
	if err = s.claim(ctx); err == nil {
		err = makePartial(s.dir)
	}
	if err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", err)
	}
	f, err := os.CreateTemp(filepath.Join(s.dir, partialDir), durable.TempPrefix+"*")
	if err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", sqlite.WrapDiskFull(err))
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = io.Copy(f, seal.ContextReader(ctx, r)); err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", sqlite.WrapDiskFull(errors.Join(err, f.Close())))
	}
	if err = f.Close(); err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", err)
	}
	return s.Import(ctx, f.Name())
}

// Import is part of [Store]. It hashes the file as the disk has it, not the bytes as
// they were received.
func (s *fileStore) Import(ctx context.Context, path string) (Blob, error) {
	if err := s.claim(ctx); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	blob, err := describe(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", sqlite.WrapDiskFull(err))
	}
	to := s.path(blob.SHA256)
	switch intact, err := hasIntact(ctx, s, blob); {
	case err != nil:
		return Blob{}, fmt.Errorf("import blob: %w", err)
	case intact:
		return blob, durable.Remove(path)
	}
	if err := durable.MkdirAll(filepath.Dir(to)); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	err = durable.Rename(path, to)
	if errors.Is(err, syscall.EXDEV) {
		return s.importCopy(ctx, path)
	}
	if err == nil {
		err = os.Chmod(to, 0o400) // not before: a file that is still at path must stay writable
	}
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	return blob, nil
}

// hasIntact reports whether a store has a blob with the right bytes. A damaged blob
// is replaced by the copy that is being imported.
func hasIntact(ctx context.Context, s Store, want Blob) (bool, error) {
	r, got, err := s.Open(ctx, want.SHA256)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	if got.Size != want.Size {
		return false, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, seal.ContextReader(ctx, r)); err != nil {
		return false, ctx.Err() // a blob that cannot be read is damaged
	}
	return hex.EncodeToString(h.Sum(nil)) == want.SHA256, nil
}

// importCopy imports a file of another file system by copying it.
func (s *fileStore) importCopy(ctx context.Context, path string) (Blob, error) {
	f, err := os.Open(path)
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	defer f.Close()
	blob, err := s.Put(ctx, f)
	if err != nil {
		return Blob{}, err
	}
	return blob, durable.Remove(path)
}

// describe hashes and sniffs an open file. An empty file is no recording.
func describe(ctx context.Context, f *os.File) (Blob, error) {
	h := sha256.New()
	size, err := io.Copy(h, seal.ContextReader(ctx, f))
	if err != nil {
		return Blob{}, err
	}
	if size == 0 {
		return Blob{}, errors.New("there is nothing in it")
	}
	kind, err := sniff(f)
	if err != nil {
		return Blob{}, err
	}
	return Blob{hex.EncodeToString(h.Sum(nil)), size, kind}, nil
}

// Open is part of [Store]. A file whose bytes cannot be read is opened too: reading it fails.
func (s *fileStore) Open(ctx context.Context, sha string) (Reader, Blob, error) {
	if !ValidName(sha) {
		return nil, Blob{}, fmt.Errorf("open blob: %w", ErrNotFound)
	}
	f, err := os.Open(s.path(sha))
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.claim(ctx); err != nil {
			return nil, Blob{}, fmt.Errorf("open blob %s: %w", sha, err)
		}
		return nil, Blob{}, fmt.Errorf("open blob %s: %w", sha, ErrNotFound)
	}
	if err != nil {
		return nil, Blob{}, fmt.Errorf("open blob: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, Blob{}, errors.Join(fmt.Errorf("open blob: %w", err), f.Close())
	}
	kind, err := sniff(f)
	if err != nil {
		kind = "application/octet-stream"
	}
	return f, Blob{sha, info.Size(), kind}, nil
}

// Stat is part of [Store].
func (s *fileStore) Stat(ctx context.Context, sha string) (Blob, error) {
	r, blob, err := s.Open(ctx, sha)
	if err != nil {
		return Blob{}, err
	}
	return blob, r.Close()
}

// Delete is part of [Store].
func (s *fileStore) Delete(ctx context.Context, sha string) error {
	if !ValidName(sha) {
		return nil
	}
	if err := s.claim(ctx); err != nil {
		return fmt.Errorf("delete blob %s: %w", sha, err)
	}
	if _, err := os.Lstat(filepath.Dir(s.path(sha))); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return durable.Remove(s.path(sha))
}

// Walk is part of [Store]. It passes over files without the name of a blob, and over
// blobs that are deleted meanwhile.
func (s *fileStore) Walk(ctx context.Context, fn func(Blob) error) error {
	if err := s.claim(ctx); err != nil {
		return fmt.Errorf("walk media: %w", err)
	}
	return s.walk(ctx, fn)
}

// walk is Walk in a directory of any owner.
func (s *fileStore) walk(ctx context.Context, fn func(Blob) error) error {
	return s.walkDir(func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk media: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() || !ValidName(d.Name()) || path != s.path(d.Name()) {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("walk media: %w", err)
		}
		return fn(Blob{SHA256: d.Name(), Size: info.Size()})
	})
}

// walkDir is [filepath.WalkDir], which does not follow a link, for a directory that may be one.
func (s *fileStore) walkDir(fn fs.WalkDirFunc) error {
	return filepath.WalkDir(s.dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		return fn(filepath.Clean(path), d, err)
	})
}

// ValidName reports whether a name is a blob's: 64 lower-case hex digits.
func ValidName(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 2*sha256.Size
}
