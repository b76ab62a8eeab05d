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
	// Walk calls fn for every blob until fn fails. Where telling the content
	// type would take a call for each, it is left empty.
	Walk(ctx context.Context, fn func(Blob) error) error
}

// Media is where the recordings are.
func (a *Archive) Media() Store { return a.media }

// PartialPath is where an interrupted download of that name grows, in the data
// directory, whose file system the default store shares, so that Import moves it. Of a meeting's recording
// the name is its recording_id: forgetting the meeting deletes it.
func (a *Archive) PartialPath(name string) string {
	return filepath.Join(a.dir, "media", "partial", url.PathEscape(name))
}

// OpenStore opens the store that a media URL names: "" or "file:" for
// DIR/media, "file:///path" for another directory, "s3://bucket/prefix".
func OpenStore(ctx context.Context, dir, mediaURL string) (Store, error) {
	local, err := newFileStore(filepath.Join(dir, "media"))
	if err != nil {
		return nil, err
	}
	scheme, path, _ := strings.Cut(mediaURL, ":")
	switch {
	case mediaURL == "" || scheme == "file" && path == "":
		return local, nil
	case scheme == "file":
		u, err := url.Parse(mediaURL)
		if err != nil || u.Host != "" || !filepath.IsAbs(u.Path) {
			return nil, fmt.Errorf("open media store: %q is not file:///path; correct media.url", mediaURL)
		}
		return newFileStore(u.Path)
	case scheme == "s3":
		return openS3(ctx, mediaURL, filepath.Join(dir, "media", "partial"))
	}
	return nil, fmt.Errorf("open media store: %q is not a scheme known here; there are file: and s3:; correct media.url", scheme)
}
