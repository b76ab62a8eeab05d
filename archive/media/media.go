package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"minutebook/internal/bucket"
)

// ErrNotFound is the error of a blob that a store does not have.
var ErrNotFound = errors.New("not found")

// Blob is a recording's bytes, named by their SHA-256 in lower-case hex.
type Blob struct {
	SHA256      string
	Size        int64 // in bytes
	ContentType string
}

// Reader reads a blob from any place in it.
type Reader interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Store keeps blobs by content. It fails with [ErrNotFound] for a blob that it
// does not have.
type Store interface {
	// Put stores the content of r and returns when it is durable. Content that
	// is in the store already is not stored twice. A failure leaves nothing behind.
	Put(ctx context.Context, r io.Reader) (Blob, error)
	// Import stores the file at path, which then belongs to the store: the file
	// is removed from path when Import succeeds, and unchanged when it fails.
	Import(ctx context.Context, path string) (Blob, error)
	// Open opens a blob for reading; the caller closes the reader.
	Open(ctx context.Context, sha256 string) (Reader, Blob, error)
	// Stat describes a blob without reading all of it.
	Stat(ctx context.Context, sha256 string) (Blob, error)
	// Delete removes a blob. It succeeds for a blob that is not in the store.
	Delete(ctx context.Context, sha256 string) error
	// Walk calls fn for every blob until fn fails, without its content type.
	Walk(ctx context.Context, fn func(Blob) error) error
}

// Open opens the store that a media URL names: "" or "file:" for the directory
// media in dataDir, "file:///path" for another directory, "s3://bucket/prefix"
// for a bucket. Neither the server nor the disk is asked yet, as an archive opens while they are
// away: see [Check]. The line leads to the server.
func Open(dataDir, mediaURL string, line bucket.Line) (Store, error) {
	local := localDir(dataDir)
	scheme, path, _ := strings.Cut(mediaURL, ":")
	switch {
	case mediaURL == "" || scheme == "file" && path == "":
		return openFiles(local, local), nil
	case scheme == "file":
		u, err := url.Parse(mediaURL)
		if err != nil || u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, fmt.Errorf("open media store: %q is not file:///path; correct media.url", mediaURL)
		}
		return openFiles(filepath.Clean(u.Path), local), nil
	case scheme == "s3":
		return openS3(mediaURL, local, line)
	}
	return nil, fmt.Errorf("open media store: %q is not a known scheme; use file: or s3:; correct media.url", scheme)
}

// localDir is the directory of recordings in a data directory. Every store has it: a
// recording grows in it until the store imports it.
func localDir(dataDir string) string { return filepath.Join(dataDir, "media") }

// Former returns the store in a data directory, where the recordings are in another directory, or in a
// bucket (""): some from before may still be there. It is nil where the data directory's is in use, is a
// link, or keeps the recordings of another archive than that of the identity.
func Former(dir, dataDir, identity string) Store {
	local := localDir(dataDir)
	here, err := os.Lstat(local)
	if err != nil || !here.IsDir() {
		return nil
	}
	if dir != "" {
		if there, err := os.Stat(dir); err != nil || os.SameFile(here, there) {
			return nil
		}
	}
	keeps, err := os.ReadFile(filepath.Join(local, OwnerName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(keeps)) != identity {
		return nil
	}
	return openFiles(local, local)
}

const partialDir = "partial"

// PartialPath is the file in which an interrupted download of that name grows. It
// is in the data directory, on whose file system the default store is too, so
// that Import moves the file instead of copying it.
func PartialPath(dataDir, name string) string {
	return filepath.Join(localDir(dataDir), partialDir, url.PathEscape(name))
}

// Dir returns the directory of a store of files, and "" for another store.
func Dir(s Store) string {
	if files, ok := s.(*fileStore); ok {
		return files.dir
	}
	return ""
}

// Path returns the name that messages give a blob: the path of its file, or its
// SHA-256 where the store has no files.
func Path(s Store, sha256 string) string {
	if files, ok := s.(*fileStore); ok {
		return files.path(sha256)
	}
	return sha256
}

// Reporting is an opened recording that reports each read that fails. By then the answer to whoever
// plays or fetches it has begun, and is cut off without a reason.
type Reporting struct {
	io.ReadSeekCloser
	Report func(err error)
}

// Read is part of [io.Reader].
func (r Reporting) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	if err != nil && err != io.EOF {
		r.Report(err)
	}
	return n, err
}
