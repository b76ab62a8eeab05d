package service

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"minutebook/internal/pause"
)

// Bounds of a request's size; section 8 gives none.
const (
	maxURL  = 16 << 10 // bytes of path and query
	maxBody = 64 << 10 // bytes of a body
)

// timeouts bound how long a request may use a resource.
type timeouts struct {
	body   time.Duration // of a body, from the end of the headers to its last byte
	turn   time.Duration // of the wait for a request's turn, while maxConcurrent others are being answered
	judge  time.Duration // until a reader of media is checked again
	answer time.Duration // of an answer, from the request's turn to its last byte
	stall  time.Duration // of a reader of media that takes nothing
}

// defaultTimeouts are those of every Service except in tests.
func defaultTimeouts() timeouts {
	return timeouts{body: 10 * time.Second, turn: 10 * time.Second, answer: time.Minute, stall: 30 * time.Second, judge: 10 * time.Second}
}

// errTooLarge is the answer to a body above maxBody.
var errTooLarge = &failure{status: http.StatusRequestEntityTooLarge, text: "the body is too large"}

// withBounds keeps the number, the size and the duration of requests within
// bounds, and waits the configured latency. A body is read whole before the
// request takes its turn, so a body that never comes delays nobody.
func (s *Service) withBounds(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.RequestURI) > maxURL {
			s.writeError(w, r, &failure{status: http.StatusRequestURITooLong, text: "the URL is too long"})
			return
		}
		if err := bufferBody(w, r); err != nil {
			s.writeError(w, r, err)
			return
		}
		turn := time.NewTimer(s.timeouts.turn)
		defer turn.Stop()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-turn.C:
			s.writeError(w, r, &failure{status: http.StatusServiceUnavailable, text: "too many requests at one time"})
			return
		case <-r.Context().Done():
			return
		}
		if s.opts.Latency > 0 && pause.For(r.Context(), s.opts.Latency) != nil {
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.timeouts.answer))
		next.ServeHTTP(w, r)
	})
}

// withDeadlines gives every request its deadlines first, so that requests that
// are refused at once are bounded too, and no deadline of an earlier request on
// the connection stays. Without a connection, in some tests, nothing is bounded.
func (s *Service) withDeadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(s.timeouts.body))
		}
		_ = control.SetWriteDeadline(time.Now().Add(s.timeouts.body + s.timeouts.turn + s.timeouts.answer))
		next.ServeHTTP(w, r)
	})
}

// bufferBody reads a request's body whole and replaces it by its bytes. It leaves
// the deadline of withDeadlines in force: net/http lifts it at the end of the body,
// and reads the rest of a body before it sends an answer, so without a deadline it
// would wait for ever for a body that has stopped.
func bufferBody(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if err != nil {
		w.Header().Set("Connection", "close")
	}
	switch {
	case errors.As(err, &tooLarge):
		return errTooLarge
	case err != nil:
		return badRequest("the body could not be read")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
