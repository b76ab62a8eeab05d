package receiver

import (
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync"

	"minutebook/archive/inbox"
)

// A refusal says why a request is not taken; its text is the whole answer.
type refusal struct {
	status int
	text   string
	retry  int  // seconds for Retry-After
	unread bool // the body was not read to its end
}

// The refusals. unverified is one for an unknown account, a wrong signature, a
// wrong age and a wrong token, so that nothing can be learnt from it.
var (
	none        = refusal{}
	malformed   = refusal{status: http.StatusBadRequest, text: "malformed request", unread: true}
	unverified  = refusal{status: http.StatusUnauthorized, text: "not verified", unread: true}
	notFound    = refusal{status: http.StatusNotFound, text: "not found", unread: true}
	wrongMethod = refusal{status: http.StatusMethodNotAllowed, text: "only POST is taken here", unread: true}
	tooSlow     = refusal{status: http.StatusRequestTimeout, text: "the body came too slowly", unread: true}
	tooLarge    = refusal{status: http.StatusRequestEntityTooLarge, text: "the body is too large", unread: true}
	encoded     = refusal{status: http.StatusUnsupportedMediaType, text: "no Content-Encoding is taken", unread: true}
	crowded     = refusal{status: http.StatusServiceUnavailable, text: "too much at once", retry: 5, unread: true}
	diskFull    = refusal{status: http.StatusServiceUnavailable, text: "cannot store now", retry: 60, unread: true}
	behind      = refusal{status: http.StatusServiceUnavailable, text: "cannot store now", retry: 5}
)

// read is the same refusal once the whole body was read: the connection may stay.
func (f refusal) read() refusal {
	f.unread = false
	return f
}

// fromInbox maps an error of the inbox to the sender's answer. All of them
// are worth another try.
func fromInbox(err error) refusal {
	if errors.Is(err, inbox.ErrDisk) {
		return diskFull.read()
	}
	return behind
}

// fromRead maps an error of reading a body.
func fromRead(err error) refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tooSlow
	}
	return malformed
}

// Counts counts the requests since the start by their results.
type Counts struct {
	Accepted   int64         `json:"accepted"`   // new, on disk, 200
	Duplicates int64         `json:"duplicates"` // known, 200
	Refused    map[int]int64 `json:"refused"`    // by status
}

type counts struct {
	mu sync.Mutex
	c  Counts
}

func (c *counts) countAccepted(duplicate bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if duplicate {
		c.c.Duplicates++
	} else {
		c.c.Accepted++
	}
}

func (c *counts) countRefused(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c.Refused == nil {
		c.c.Refused = map[int]int64{}
	}
	c.c.Refused[status]++
}

// Counts returns the counts so far.
func (r *Receiver) Counts() Counts {
	r.counts.mu.Lock()
	defer r.counts.mu.Unlock()
	c := r.counts.c
	c.Refused = make(map[int]int64, len(r.counts.c.Refused))
	for status, n := range r.counts.c.Refused {
		c.Refused[status] = n
	}
	return c
}

func (f refusal) write(w http.ResponseWriter) {
	h := w.Header()
	if f.status == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodPost)
	}
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(f.retry))
	}
	if f.unread {
		h.Set("Connection", "close")
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(f.status)
	w.Write([]byte(f.text + "\n"))
}
