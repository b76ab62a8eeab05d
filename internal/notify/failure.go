package notify

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"minutebook/internal/outbound"
)

// failure says in words why a connection failed. Its text has no address, unlike that of
// its cause.
type failure struct {
	text  string
	cause error
}

// Error returns the text.
func (f *failure) Error() string { return f.text }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// explain returns a network's error without the address in it.
func explain(err error) error {
	var (
		request *url.Error
		name    *net.DNSError
		timeout net.Error
		number  syscall.Errno
	)
	if errors.As(err, &request) {
		err = request.Err
	}
	text := "the connection fails"
	switch {
	case errors.Is(err, context.Canceled):
		text = "it was interrupted"
	case errors.Is(err, outbound.ErrNotGlobal):
		text = outbound.ErrNotGlobal.Error() + " (see allow_private)"
	case errors.As(err, &name) && name.IsNotFound:
		text = "its name is not known"
	case errors.As(err, &name):
		text = "its name cannot be looked up"
	case outbound.ExplainTLS(err) != err: //nolint:errorlint // whether it was explained
		return outbound.ExplainTLS(err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		text = "it does not answer in time"
	case errors.As(err, &number):
		text = number.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = "it closes the connection without an answer"
	}
	return &failure{text, err}
}

// isWithoutAddress reports whether an error is none of the network's, so that it has no
// address in it.
func isWithoutAddress(err error) bool {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	return !errors.As(err, &network) && !errors.As(err, &certificate) && !errors.Is(err, outbound.ErrNotGlobal) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// mask returns a text of the other side without secrets that it may repeat.
func mask(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
			text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString([]byte(secret)), "***")
		}
	}
	return text
}
