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
	"path"
	"path/filepath"

	"minutebook/internal/bucket"
	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

// s3Store keeps blobs as objects ab/abcdef… below a prefix of a bucket. A blob is on
// this machine only while it is uploaded, in the directory partial.
type s3Store struct {
	bucket *bucket.Bucket
	local  string // in the data directory, where files are while they are uploaded
	owner  owner
}

// openS3 opens the store in a bucket. The server is not asked yet: an archive opens
// while its bucket is away. [Check] asks it.
func openS3(mediaURL, local string, line bucket.Line) (*s3Store, error) {
	b, err := bucket.OpenWith(mediaURL, line)
	if err != nil {
		return nil, fmt.Errorf("open media store: %w; correct media.url", err)
	}
	return &s3Store{bucket: b, local: local}, nil
}

func (s *s3Store) key(sha string) string { return sha[:2] + "/" + sha }

// Put is part of [Store].
func (s *s3Store) Put(ctx context.Context, r io.Reader) (Blob, error) {
	err := makePartial(s.local)
	if err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", err)
	}
	f, err := os.CreateTemp(filepath.Join(s.local, partialDir), durable.TempPrefix+"*")
	if err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, seal.ContextReader(ctx, r))
	if err = errors.Join(err, f.Close()); err != nil {
		return Blob{}, fmt.Errorf("store blob: %w", err)
	}
	return s.Import(ctx, f.Name())
}

// Import is part of [Store].
func (s *s3Store) Import(ctx context.Context, file string) (Blob, error) {
	if err := s.claim(ctx, false); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	f, err := os.Open(file)
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	defer f.Close()
	blob, err := describe(ctx, f)
	if err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	switch intact, err := hasIntact(ctx, s, blob); {
	case err != nil:
		return Blob{}, fmt.Errorf("import blob: %w", err)
	case intact:
		return blob, durable.Remove(file)
	}
	if err := s.upload(ctx, f, blob); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	return blob, durable.Remove(file)
}

// upload sends a file, a large one in parts, and hashes once more the bytes that
// it sends: a file that changes meanwhile does not become a blob.
func (s *s3Store) upload(ctx context.Context, f *os.File, blob Blob) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	digest := sha256.New()
	size, err := s.bucket.Put(ctx, s.key(blob.SHA256), io.TeeReader(seal.ContextReader(ctx, f), digest), blob.Size, blob.ContentType)
	if err != nil {
		return err
	}
	if size != blob.Size || hex.EncodeToString(digest.Sum(nil)) != blob.SHA256 {
		return errors.Join(errors.New("upload: the file changed while it was sent"), s.Delete(ctx, blob.SHA256))
	}
	return nil
}

// Open is part of [Store].
func (s *s3Store) Open(ctx context.Context, sha string) (Reader, Blob, error) {
	if !ValidName(sha) {
		return nil, Blob{}, fmt.Errorf("open blob: %w", ErrNotFound)
	}
	r, o, err := s.bucket.Open(ctx, s.key(sha))
	if err != nil {
		return nil, Blob{}, fmt.Errorf("open blob %s: %w", sha, s.orNotFound(ctx, err))
	}
	return r, Blob{sha, o.Size, o.ContentType}, nil
}

// Stat is part of [Store].
func (s *s3Store) Stat(ctx context.Context, sha string) (Blob, error) {
	if !ValidName(sha) {
		return Blob{}, fmt.Errorf("look for blob: %w", ErrNotFound)
	}
	o, err := s.bucket.Stat(ctx, s.key(sha))
	if err != nil {
		return Blob{}, fmt.Errorf("look for blob %s: %w", sha, s.orNotFound(ctx, err))
	}
	return Blob{sha, o.Size, o.ContentType}, nil
}

// orNotFound makes ErrNotFound of a bucket's error for an absent object, where the prefix is the
// archive's own.
func (s *s3Store) orNotFound(ctx context.Context, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.claim(ctx, true); err != nil {
		return err
	}
	return ErrNotFound
}

// Delete is part of [Store]. It also deletes parts that a crash left.
func (s *s3Store) Delete(ctx context.Context, sha string) error {
	if !ValidName(sha) {
		return nil
	}
	err := s.claim(ctx, false)
	if err == nil {
		err = s.bucket.Remove(ctx, s.key(sha))
	}
	if err == nil {
		err = s.bucket.Abort(ctx, s.key(sha))
	}
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", sha, err)
	}
	return nil
}

// KeepsVersions reports whether a store is a bucket in which deleted blobs stay as versions.
func KeepsVersions(ctx context.Context, s Store) bool {
	s3, ok := s.(*s3Store)
	return ok && s3.bucket.KeepsVersions(ctx)
}

// Walk is part of [Store].
func (s *s3Store) Walk(ctx context.Context, fn func(Blob) error) error {
	if err := s.claim(ctx, false); err != nil {
		return fmt.Errorf("walk media: %w", err)
	}
	return s.walk(ctx, fn)
}

// walk is Walk in a prefix of any owner.
func (s *s3Store) walk(ctx context.Context, fn func(Blob) error) error {
	for o, err := range s.bucket.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("walk media: %w", err)
		}
		if !s.isKey(o.Name) {
			continue
		}
		if err := fn(Blob{SHA256: path.Base(o.Name), Size: o.Size}); err != nil {
			return err
		}
	}
	return nil
}

// isKey reports whether an object's name is that of a blob.
func (s *s3Store) isKey(name string) bool {
	sha := path.Base(name)
	return ValidName(sha) && name == s.key(sha)
}
