package generation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

// PackedSuffix ends the name of a compressed file.
const PackedSuffix = ".zst"

// Open reads a file of a generation as it was before compression and encryption. It compares
// nothing with the manifest. The caller closes the reader.
func (g Generation) Open(ctx context.Context, f File, keys []age.Identity) (io.ReadCloser, error) {
	file, err := g.Place.Open(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	r := &plainReader{Reader: file, close: []func() error{file.Close}}
	if g.Encrypted {
		if r.Reader, err = age.Decrypt(r.Reader, keys...); err != nil {
			return nil, errors.Join(fmt.Errorf("decrypt: %w", err), file.Close())
		}
	}
	if strings.Contains(path.Base(f.Path), ".db"+PackedSuffix) {
		packed, err := zstd.NewReader(r.Reader, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("decompress: %w", err), file.Close())
		}
		r.Reader = packed
		r.close = append(r.close, func() error { packed.Close(); return nil })
	}
	return r, nil
}

// plainReader closes all that it reads through.
type plainReader struct {
	io.Reader
	close []func() error
}

// Close is part of io.Closer.
func (r *plainReader) Close() (err error) {
	for _, c := range r.close {
		err = errors.Join(err, c())
	}
	return err
}
