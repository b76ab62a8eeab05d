package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// fileStore keeps blobs as DIR/ab/abcdef…, 0400, and what is not whole yet
// under DIR/partial.
type fileStore struct{ dir string }

func newFileStore(dir string) (*fileStore, error) {
	if err := durable.MkdirAll(filepath.Join(dir, "partial")); err != nil {
		return nil, fmt.Errorf("make media directory: %w", err)
	}
	s := &fileStore{dir}
	return s, s.sweepPartial()
}

func (s *fileStore) path(sha string) string { return filepath.Join(s.dir, sha[:2], sha) }

// Put is part of Store.
func (s *fileStore) Put(ctx context.Context, r io.Reader) (_ Blob, err error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "partial"), durable.TempPrefix+"*")
	if err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", sqlite.WrapDiskFull(err))
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = io.Copy(f, contextReader{ctx, r}); err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", sqlite.WrapDiskFull(errors.Join(err, f.Close())))
	}
	if err = f.Close(); err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", err)
	}
	return s.Import(ctx, f.Name())
}

// Import is part of Store. It hashes what is on the disk, not what was meant to
// be written there.
func (s *fileStore) Import(ctx context.Context, path string) (Blob, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	blob, err := s.seal(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", sqlite.WrapDiskFull(err))
	}
	to := s.path(blob.SHA256)
	switch whole, err := holdsWhole(ctx, s, blob); {
	case err != nil:
		return Blob{}, fmt.Errorf("import blob: %w", err)
	case whole:
		return blob, durable.Remove(path)
	}
	if err := durable.MkdirAll(filepath.Dir(to)); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	err = durable.Rename(path, to)
	if errors.Is(err, syscall.EXDEV) {
		return s.carry(ctx, path)
	}
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	return blob, nil
}

// holdsWhole tells whether a store has a blob, by its bytes: a damaged one is
// replaced by what was just hashed.
func holdsWhole(ctx context.Context, s Store, want Blob) (bool, error) {
	r, held, err := s.Open(ctx, want.SHA256)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	if held.Size != want.Size {
		return false, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, contextReader{ctx, r}); err != nil {
		return false, ctx.Err() // what cannot be read is damaged
	}
	return hex.EncodeToString(h.Sum(nil)) == want.SHA256, nil
}

// carry imports a file of another file system: a copy is what gets the name.
func (s *fileStore) carry(ctx context.Context, path string) (Blob, error) {
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

// seal hashes, sniffs and syncs an open file.
func (s *fileStore) seal(ctx context.Context, f *os.File) (Blob, error) {
	h := sha256.New()
	size, err := io.Copy(h, contextReader{ctx, f})
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
	return Blob{hex.EncodeToString(h.Sum(nil)), size, kind}, f.Sync()
}

// Open is part of Store.
func (s *fileStore) Open(_ context.Context, sha string) (BlobReader, Blob, error) {
	if !validSHA(sha) {
		return nil, Blob{}, fmt.Errorf("open blob: %w", ErrNotFound)
	}
	f, err := os.Open(s.path(sha))
	if errors.Is(err, fs.ErrNotExist) {
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
		return nil, Blob{}, errors.Join(fmt.Errorf("open blob: %w", err), f.Close())
	}
	return f, Blob{sha, info.Size(), kind}, nil
}

// Stat is part of Store.
func (s *fileStore) Stat(ctx context.Context, sha string) (Blob, error) {
	r, blob, err := s.Open(ctx, sha)
	if err != nil {
		return Blob{}, err
	}
	return blob, r.Close()
}

// Delete is part of Store.
func (s *fileStore) Delete(_ context.Context, sha string) error {
	if !validSHA(sha) {
		return nil
	}
	if _, err := os.Lstat(filepath.Dir(s.path(sha))); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return durable.Remove(s.path(sha))
}

// Walk is part of Store. Files that no blob is named like are passed over.
func (s *fileStore) Walk(ctx context.Context, fn func(Blob) error) error {
	return filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk media: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() || !validSHA(d.Name()) || path != s.path(d.Name()) {
			return nil
		}
		blob, err := s.Stat(ctx, d.Name())
		if err != nil {
			return err
		}
		return fn(blob)
	})
}

// validSHA tells a blob's name: 64 lower-case hex digits.
func validSHA(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 2*sha256.Size
}

// sniff tells the content type by the first bytes.
func sniff(r io.ReaderAt) (string, error) {
	var head [512]byte
	n, err := r.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return sniffContent(head[:n]), nil
}

// sniffContent knows beside http.DetectContentType the containers of recordings
// that it takes for something else.
func sniffContent(head []byte) string {
	if len(head) >= 12 && string(head[4:8]) == "ftyp" {
		switch string(head[8:12]) {
		case "M4A ", "M4B ":
			return "audio/mp4"
		case "qt  ":
			return "video/quicktime"
		}
		return "video/mp4"
	}
	if len(head) >= 2 && head[0] == 0xff && head[1]&0xe6 == 0xe2 {
		return "audio/mpeg" // an MP3 frame without an ID3 tag
	}
	if len(head) >= 2 && head[0] == 0xff && head[1]&0xf6 == 0xf0 {
		return "audio/aac"
	}
	if len(head) >= 4 && string(head[:4]) == "fLaC" {
		return "audio/flac"
	}
	return http.DetectContentType(head)
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
