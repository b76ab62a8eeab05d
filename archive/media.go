package archive

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// Blob is a recording's bytes, named by their SHA-256 in lower-case hex.
type Blob struct {
	SHA256      string
	Size        int64 // in bytes
	ContentType string
}

// BlobReader reads a blob from any place in it.
type BlobReader interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// Store keeps blobs by content. A blob is in it whole and verified, or is not
// in it. What a Store does not have is ErrNotFound.
type Store interface {
	// Put stores what r reads and returns when it is durable. Content that is
	// there already is not stored twice. On failure nothing stays.
	Put(ctx context.Context, r io.Reader) (Blob, error)
	// Import stores the file at path, which is then the store's: it is gone
	// from path when Import returns without an error, and as it was otherwise.
	Import(ctx context.Context, path string) (Blob, error)
	// Open reads a blob; the caller closes it.
	Open(ctx context.Context, sha256 string) (BlobReader, Blob, error)
	// Stat describes a blob without reading all of it.
	Stat(ctx context.Context, sha256 string) (Blob, error)
	// Delete removes a blob; one that is not there is no error.
	Delete(ctx context.Context, sha256 string) error
	// Walk calls fn for every blob until fn fails.
	Walk(ctx context.Context, fn func(Blob) error) error
}

// Media is where the recordings are.
func (a *Archive) Media() Store { return a.media }

// PartialPath is where an interrupted download of that name grows, in the file
// system of the file store, so that Import can move it. Of a meeting's recording
// the name is its recording_id: forgetting the meeting deletes it.
func (a *Archive) PartialPath(name string) string {
	return filepath.Join(a.dir, "media", "partial", url.PathEscape(name))
}

// openStore opens the store that a media URL names.
func openStore(ctx context.Context, dir, mediaURL string) (Store, error) {
	local, err := newFileStore(filepath.Join(dir, "media"))
	if err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(mediaURL, ":")
	switch scheme {
	case "", "file":
		return local, nil
	}
	return nil, fmt.Errorf("open media store: %q is neither file: nor a scheme known here; correct media.url", scheme)
}
