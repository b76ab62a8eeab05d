// Package seal encrypts files for age recipients, reads them back, and counts and
// hashes bytes on their way.
package seal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
)

// ErrNoIdentity: a file is encrypted, and no identity was given to read it.
var ErrNoIdentity = errors.New("it is encrypted with age, and no identity was given")

// Writer returns a writer that encrypts for the recipients; without any it passes
// the bytes on. Close ends the encryption and leaves w open.
func Writer(w io.Writer, recipients []age.Recipient) (io.WriteCloser, error) {
	if len(recipients) == 0 {
		return openWriter{w}, nil
	}
	encrypted, err := age.Encrypt(w, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return encrypted, nil
}

// openWriter is a writer whose Close does nothing.
type openWriter struct{ io.Writer }

// Close is part of io.Closer.
func (openWriter) Close() error { return nil }

// header begins every age file.
const header = "age-encryption.org/"

// Reader returns the content of a file, decrypted where its first bytes tell that it
// is encrypted. It fails with [ErrNoIdentity].
func Reader(r io.Reader, identities []age.Identity) (*bufio.Reader, error) {
	br := bufio.NewReader(r)
	if head, _ := br.Peek(len(header)); string(head) != header {
		return br, nil
	}
	if len(identities) == 0 {
		return nil, ErrNoIdentity
	}
	plaintext, err := age.Decrypt(br, identities...)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	return bufio.NewReader(plaintext), nil
}

// Copy is io.Copy until ctx ends.
func Copy(ctx context.Context, to io.Writer, from io.Reader) (int64, error) {
	return io.Copy(to, ContextReader(ctx, from))
}

// ContextReader returns a reader that fails with the error of ctx once ctx has ended, also
// where the end makes a read of r fail.
func ContextReader(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read is part of io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if err != nil && r.ctx.Err() != nil {
		err = r.ctx.Err()
	}
	return n, err
}
