package bucket

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"minutebook/internal/outbound"
)

// UnavailableError says that a bucket, or another place outside of the data directory,
// did not answer, or refused to. It says nothing about an object, which may be there,
// undamaged.
type UnavailableError struct {
	Store string // the place's name, such as "bucket minutes at s3.example"
	Hint  string // how a person can remedy it; "" where only waiting helps
	Err   error
}

// Error names the place, the failure and the remedy.
func (e *UnavailableError) Error() string {
	text := e.Store + ": " + strings.TrimSuffix(e.Err.Error(), ".")
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the failure.
func (e *UnavailableError) Unwrap() error { return e.Err }

// IsUnavailable reports whether an error says that a place could not be used, and
// nothing about an object.
func IsUnavailable(err error) bool {
	var unavailable *UnavailableError
	return errors.As(err, &unavailable)
}

// IsLate reports whether an error says that a server was waited for in vain.
func IsLate(err error) bool {
	var late interface{ Timeout() bool }
	return errors.As(err, &late) && late.Timeout()
}

// IsRefused reports whether a server answered that it refuses a call, as it may
// for one object alone.
func IsRefused(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && answer.StatusCode/100 == 4
}

// contentError is a failed read of the bytes to upload: the bucket is not at fault.
type contentError struct{ error }

// Unwrap returns the error of reading.
func (e contentError) Unwrap() error { return e.error }

// lateError is a server's silence, in words of ours: those of the client are its address.
type lateError struct{ error }

// Error says that nothing came in time.
func (lateError) Error() string { return "it does not answer in time" }

// Unwrap returns the client's error.
func (e lateError) Unwrap() error { return e.error }

// brokenOff is the reason of an answer that did not come whole.
const brokenOff = "the connection ends before its answer: %w"

// errForeign is an answer of something else, such as a sign-in page. An S3 server answers an
// upload with the object's ETag.
var errForeign = errors.New("its answer is not that of an S3 server")

// errOtherPart is an answer with bytes of an object that were not asked for.
var errOtherPart = errors.New("it answers with another part of an object than it was asked for")

// explain makes an [UnavailableError] of the server's error, or of none. Refused
// credentials are read again at the next call, in case their file has changed.
func (b *Bucket) explain(err error) error {
	var content contentError
	switch {
	case err == nil || IsUnavailable(err) || errors.As(err, &content):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled // the client's error has the address
	}
	unavailable := &UnavailableError{Store: b.String(), Err: outbound.ExplainTLS(err)}
	var (
		dialed  *net.OpError
		broken  *url.Error
		drip    *outbound.DripError
		missing error // why there is no answer, or not all of one
	)
	switch {
	case errors.Is(err, errOtherPart):
		unavailable.Err, unavailable.Hint = errOtherPart, "see what is in between: it has to honour Range"
	case errors.As(err, &dialed) && dialed.Op == "dial":
		missing = fmt.Errorf("it cannot be reached: %w", dialed)
	case errors.As(err, &drip):
		missing = fmt.Errorf("%w: %w", lateError{}, drip)
	case IsLate(err):
		missing = lateError{err}
	case errors.As(err, &dialed):
		missing = fmt.Errorf(brokenOff, dialed)
	case errors.Is(err, io.ErrUnexpectedEOF):
		missing = fmt.Errorf(brokenOff, err)
	case errors.As(err, &broken) && outbound.ExplainTLS(err) == err: // in words of the client's, with the whole address
		missing = fmt.Errorf(brokenOff, io.ErrUnexpectedEOF)
	}
	if missing != nil {
		unavailable.Err, unavailable.Hint = missing, "see whether the server works, and whether this machine reaches it"
	}
	answer := minio.ToErrorResponse(err)
	if missing == nil && isForeign(err) {
		unavailable.Err, unavailable.Hint = errForeign, "correct the endpoint in its address, or see what is in between"
	}
	if answer.StatusCode == http.StatusServiceUnavailable {
		unavailable.Hint = "it has too much to do: nothing is lost, and a later try may succeed"
	}
	switch answer.Code {
	case minio.NoSuchBucket:
		unavailable.Hint = "make the bucket, or correct its address in the configuration"
	case "RequestTimeTooSkewed":
		unavailable.Hint = "set this machine's clock"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "ExpiredTokenException", "InvalidTokenId":
		b.creds.Expire()
		unavailable.Hint = "correct the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the shared credentials file)"
	case minio.AccessDenied:
		b.creds.Expire()
		unavailable.Hint = "give the user of the credentials the right to list, read, write and delete there, or correct the credentials"
	}
	return unavailable
}

// isForeign reports whether an answer makes no sense to the client: it is a sign-in page's,
// say, and not that of an S3 server.
func isForeign(err error) bool {
	var syntax *xml.SyntaxError
	var own minio.ErrorResponse // of the client's own where no status is in it
	return errors.Is(err, errForeign) || errors.As(err, &syntax) || errors.As(err, &own) && own.StatusCode == 0 && own.Code == minio.InternalError
}
