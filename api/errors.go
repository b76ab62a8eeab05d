package api

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Error is an answer of the service that is not a success. Its text never contains
// a query, a credential or an address that the service repeated.
type Error struct {
	Status     int           // HTTP status
	Message    string        // the service's message, shortened; may be empty
	RetryAfter time.Duration // the time for which the service refuses calls; 0: unknown
	Method     string
	Path       string // without the base URL's, without the query
	Cursor     bool   // the call continued a list
}

// Error names the call, the status and the service's message.
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
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return 0
}

// BlockedError is a call that was not made, since the service refuses calls for more
// than a day (Retry-After); see [Budget.Resume].
type BlockedError struct{ Until time.Time }

// Error names the time until which the service refuses calls.
func (e *BlockedError) Error() string {
	return "the service asked not to be called before " + e.Until.UTC().Format(time.RFC3339)
}

// IsBlocked reports whether the service refuses calls for more than a day.
func IsBlocked(err error) bool {
	var e *BlockedError
	return errors.As(err, &e)
}

// IsUnusable reports whether something else than the service has answered, such as a web
// page.
func IsUnusable(err error) bool { return errors.Is(err, errUnusable) }

// IsAccountRefused reports whether the account gets no answers until a person acts:
// its credential was refused, its OAuth connection is lost, or its user is
// deactivated, which is some 4xx to every call (specification 5.3). Only a 4xx to the first
// page of the meeting types says that: nothing else about it can be refused, while
// a 4xx to another call may be about one list, meeting or recording alone.
func IsAccountRefused(err error) bool {
	if NeedsReconnect(err) || IsBlocked(err) {
		return true
	}
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Status == http.StatusUnauthorized || e.Path == "/meeting_types" && !e.Cursor && IsRefused(e)
}

// IsRefused reports whether the service refused a call, and would refuse it again: some 4xx.
// It may be the account that is refused, see [IsAccountRefused].
func IsRefused(err error) bool { return statusOf(err)/100 == 4 && !IsTemporary(err) }

// IsForbidden reports whether the caller lacks the permission (403).
func IsForbidden(err error) bool { return statusOf(err) == http.StatusForbidden }

// IsNotFound reports whether the resource is missing or not visible (404).
func IsNotFound(err error) bool { return statusOf(err) == http.StatusNotFound }

// IsNoMedia reports whether a recording has nothing to download (422).
func IsNoMedia(err error) bool { return statusOf(err) == http.StatusUnprocessableEntity }

// IsCursorRefused reports whether a list could not be continued from its cursor,
// because the cursor has expired or belongs to another query. Start the list again.
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

// IsTemporary reports whether the same call may succeed later: the connection broke,
// the answer was cut off, the service failed or a limit was exceeded.
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
	// ErrNotSent is a call that certainly did not reach the service. It is reported
	// for calls that must not be carried out twice.
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

// Error names the call and its cause.
func (e *brokenError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.method, e.path, e.cause)
}

// Unwrap returns the cause.
func (e *brokenError) Unwrap() error { return e.cause }
