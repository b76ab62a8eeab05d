package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is an answer of the service that is not a success. Its text never
// carries a query, a credential or an address that the service repeated.
type Error struct {
	Status     int           // HTTP status
	Message    string        // what the service said, shortened; may be empty
	RetryAfter time.Duration // how long the service wants not to be asked; 0: not told
	Method     string
	Path       string // without the base URL's, without the query
	Cursor     bool   // the call continued a list
}

// Error names the call, the status and what the service said.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Status >= 300 && e.Status < 400 {
		text += " (redirects are not followed; check base_url)"
	}
	return text
}

// statusOf returns the status of the *Error in err, or 0.
func statusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// BlockedError is a call that was not made, since the service asked not to be
// called for more than a day (Retry-After); see Budget.Resume.
type BlockedError struct{ Until time.Time }

// Error says until when.
func (e *BlockedError) Error() string {
	return "the service asked not to be called before " + e.Until.UTC().Format(time.RFC3339)
}

// IsBlocked tells that the service asked not to be called for more than a day.
func IsBlocked(err error) bool {
	var e *BlockedError
	return errors.As(err, &e)
}

// IsUnauthorized tells that the credential was refused (401).
func IsUnauthorized(err error) bool { return statusOf(err) == http.StatusUnauthorized }

// IsAccountRefused tells that nothing of this account will be answered until a
// person does something: its credential was refused, its OAuth connection is
// lost, or its user is deactivated, which is some 4xx where no permission is
// asked for (specification 5.3).
func IsAccountRefused(err error) bool {
	if NeedsReconnect(err) || IsBlocked(err) {
		return true
	}
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return true
	case http.StatusPaymentRequired, http.StatusForbidden, http.StatusGone, http.StatusLocked:
		return !e.Cursor && (e.Path == "/meetings" || e.Path == "/meeting_types")
	}
	return false
}

// IsForbidden tells that the caller is not permitted this (403).
func IsForbidden(err error) bool { return statusOf(err) == http.StatusForbidden }

// IsNotFound tells that the resource is not there, or not visible (404).
func IsNotFound(err error) bool { return statusOf(err) == http.StatusNotFound }

// IsNoMedia tells that a recording has nothing to download (422).
func IsNoMedia(err error) bool { return statusOf(err) == http.StatusUnprocessableEntity }

// IsRateLimited tells that a limit was exceeded and retrying was given up (429).
func IsRateLimited(err error) bool { return statusOf(err) == http.StatusTooManyRequests }

// IsCursorRefused tells that a list could not be continued from its cursor,
// because it has lapsed or belongs to another query: start the list again.
func IsCursorRefused(err error) bool {
	var e *Error
	if !errors.As(err, &e) || !e.Cursor {
		return errors.Is(err, ErrCursorLoop)
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// IsTemporary tells that the same call may succeed later: the connection broke,
// the answer was cut off, the service failed or was over a limit.
func IsTemporary(err error) bool {
	if status := statusOf(err); status != 0 {
		return temporaryStatus(status)
	}
	var broken *brokenError
	return errors.As(err, &broken) && broken.temporary
}

func temporaryStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

var (
	// ErrNotSent is a call that did not reach the service, where a repetition
	// would do something twice.
	ErrNotSent = errors.New("the service was not reached")
	// ErrCursorLoop is a list that names a cursor it has named before.
	ErrCursorLoop = errors.New("the service repeats a cursor; the list never ends")
	// ErrInlineContent is a query for transcripts or summaries on the list with
	// an OAuth connection, which the service refuses (specification 5.7).
	ErrInlineContent = errors.New("an OAuth connection cannot include transcripts or summaries in the list; read them one by one")
)

// brokenError is a call without a usable answer.
type brokenError struct {
	method, path string
	cause        error
	temporary    bool
	unsent       bool // the service cannot have seen the call
}

// Error names the call and what became of it.
func (e *brokenError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.method, e.path, e.cause)
}

// Unwrap returns what the call broke on.
func (e *brokenError) Unwrap() error { return e.cause }
