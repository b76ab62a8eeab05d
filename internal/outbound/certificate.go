package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
)

// failedTLS is a connection that failed at its encryption, in words and with the remedy.
type failedTLS struct {
	text  string
	cause error
}

// Error returns the text, which has no address.
func (f *failedTLS) Error() string { return f.text }

// Unwrap returns the cause.
func (f *failedTLS) Unwrap() error { return f.cause }

// ExplainTLS returns an error of a connection in words, with the remedy, where a
// certificate or the lack of encryption is its reason. It returns any other error as it is.
func ExplainTLS(err error) error {
	var (
		hostname  x509.HostnameError
		authority x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		verifying *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		text      string
	)
	switch {
	case errors.As(err, &hostname):
		text = "its certificate is for another name: correct the address, or the server's certificate"
	case errors.As(err, &authority):
		text = "its certificate is from an authority that this machine does not know: have the server send its whole chain, or install your own authority's certificate (SSL_CERT_FILE names a file)"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		text = "its certificate has expired, or is not valid yet: renew it there, or set this machine's clock"
	case errors.As(err, &invalid), errors.As(err, &verifying):
		text = "its certificate is not valid: have the server use another"
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		text = "it does not speak TLS there: correct the port, or write http:// where it is in your own network"
	default:
		return err
	}
	return &failedTLS{text, err}
}
