package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

// s3Store keeps blobs as objects PREFIX/ab/abcdef… of a bucket. An object appears
// whole, once the server has checked the checksum of every part, or not at all. A
// blob is on this machine only while it is uploaded, in the directory partial.
type s3Store struct {
	client  *minio.Core
	creds   *credentials.Credentials
	host    string // of the server, for messages
	bucket  string
	prefix  string // "" or ending in a slash
	partial string // directory of files that are being uploaded
	part    int64  // size of an upload's parts in bytes
	owner   owner
}

// partSize lets the 10,000 parts of an upload hold 160 GB.
const partSize = 16 << 20

// openS3 opens the store that s3://BUCKET/PREFIX?endpoint=URL&region=NAME names.
// The endpoint is Amazon's by default. Credentials come from the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), the shared
// credentials file or the machine's role, never from the URL. The server is not asked
// yet: an archive opens while its bucket is away. [Check] asks it.
func openS3(mediaURL, partial string) (*s3Store, error) {
	u, err := url.Parse(mediaURL)
	if err != nil || u.Host == "" {
		return nil, errors.New("open media store: media.url is not s3://bucket/prefix")
	}
	if u.User != nil {
		return nil, errors.New("open media store: media.url holds credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment instead")
	}
	for key := range u.Query() {
		if key != "endpoint" && key != "region" {
			return nil, fmt.Errorf("open media store: media.url has the unknown parameter %q; there are endpoint and region", key)
		}
	}
	endpoint, err := url.Parse(u.Query().Get("endpoint"))
	if err != nil || endpoint.String() != "" && (endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		return nil, errors.New("open media store: the endpoint in media.url is not an http or https URL")
	}
	if endpoint.Host == "" {
		endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	creds := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: roleTimeout}}})
	client, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds: creds, Secure: endpoint.Scheme == "https", Region: u.Query().Get("region"),
		Transport: newStallTransport(stallTimeout), MaxRetries: maxTries})
	if err != nil {
		return nil, fmt.Errorf("open media store: %w", err)
	}
	s := &s3Store{client: client, creds: creds, host: endpoint.Host, bucket: u.Host, partial: partial, part: partSize, prefix: strings.Trim(u.Path, "/")}
	if s.prefix != "" {
		s.prefix += "/"
	}
	return s, nil
}

func (s *s3Store) key(sha string) string { return s.prefix + sha[:2] + "/" + sha }

// Put is part of [Store].
func (s *s3Store) Put(ctx context.Context, r io.Reader) (Blob, error) {
	f, err := os.CreateTemp(s.partial, durable.TempPrefix+"*")
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
func (s *s3Store) Import(ctx context.Context, path string) (Blob, error) {
	if err := s.claim(ctx); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	f, err := os.Open(path)
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
		return blob, durable.Remove(path)
	}
	if err := s.upload(ctx, f, blob); err != nil {
		return Blob{}, fmt.Errorf("import blob: %w", err)
	}
	return blob, durable.Remove(path)
}

// upload sends a file, a large one in parts, and hashes once more the bytes that
// it sends: a file that changes meanwhile does not become a blob.
func (s *s3Store) upload(ctx context.Context, f *os.File, blob Blob) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	digest := sha256.New()
	info, err := s.client.Client.PutObject(ctx, s.bucket, s.key(blob.SHA256), io.TeeReader(seal.ContextReader(ctx, f), digest), blob.Size, minio.PutObjectOptions{
		ContentType: blob.ContentType, PartSize: uint64(s.part), SendContentMd5: true, DisableContentSha256: false})
	if err != nil {
		return fmt.Errorf("upload: %w", s.explain(err))
	}
	if blob.Size > s.part { // a crash may have left parts of it
		if err := s.abort(ctx, s.key(blob.SHA256)); err != nil {
			return fmt.Errorf("upload: %w", s.explain(err))
		}
	}
	if info.Size != blob.Size || hex.EncodeToString(digest.Sum(nil)) != blob.SHA256 {
		return errors.Join(errors.New("upload: the file changed while it was sent"), s.Delete(ctx, blob.SHA256))
	}
	return nil
}

// Open is part of [Store]. Each read at a new place is a call to the server;
// nothing is cached. Reading ends when ctx does.
func (s *s3Store) Open(ctx context.Context, sha string) (Reader, Blob, error) {
	blob, err := s.Stat(ctx, sha)
	if err != nil {
		return nil, Blob{}, fmt.Errorf("open blob: %w", err)
	}
	object, err := s.client.Client.GetObject(ctx, s.bucket, s.key(sha), minio.GetObjectOptions{})
	if err != nil {
		return nil, Blob{}, fmt.Errorf("open blob %s: %w", sha, s.explain(err))
	}
	return &s3Object{Object: object, store: s, size: blob.Size}, blob, nil
}

// Stat is part of [Store]. The answer to HEAD has no body that would name the
// error: after a failure the bucket is asked too, so that an absent bucket does not
// look like a bucket without the blob.
func (s *s3Store) Stat(ctx context.Context, sha string) (Blob, error) {
	if !ValidName(sha) {
		return Blob{}, fmt.Errorf("look for blob: %w", ErrNotFound)
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.key(sha), minio.StatObjectOptions{})
	if err == nil {
		return Blob{sha, info.Size, info.ContentType}, nil
	}
	if status := minio.ToErrorResponse(err).StatusCode; status == http.StatusNotFound || status == http.StatusForbidden {
		if err := s.check(ctx); err != nil {
			return Blob{}, fmt.Errorf("look for blob %s: %w", sha, err)
		}
	}
	if isNotFound(err) {
		return Blob{}, fmt.Errorf("look for blob %s: %w", sha, ErrNotFound)
	}
	return Blob{}, fmt.Errorf("look for blob %s: %w", sha, s.explain(err))
}

// Delete is part of [Store]. It also deletes parts that a crash left.
func (s *s3Store) Delete(ctx context.Context, sha string) error {
	if !ValidName(sha) {
		return nil
	}
	if err := s.claim(ctx); err != nil {
		return fmt.Errorf("delete blob %s: %w", sha, err)
	}
	err := s.client.RemoveObject(ctx, s.bucket, s.key(sha), minio.RemoveObjectOptions{})
	if err == nil || isNotFound(err) {
		err = s.abort(ctx, s.key(sha))
	}
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", sha, s.explain(err))
	}
	return nil
}

// Walk is part of [Store].
func (s *s3Store) Walk(ctx context.Context, fn func(Blob) error) error {
	if err := s.claim(ctx); err != nil {
		return fmt.Errorf("walk media: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for info := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true}) {
		if info.Err != nil {
			return fmt.Errorf("walk media: %w", s.explain(info.Err))
		}
		sha := filepath.Base(info.Key)
		if !ValidName(sha) || info.Key != s.key(sha) {
			continue
		}
		if err := fn(Blob{SHA256: sha, Size: info.Size, ContentType: info.ContentType}); err != nil {
			return err
		}
	}
	return ctx.Err()
}
