package service

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"
)

// Bounds of what a request may hold (section 8 gives none).
const (
	maxURL  = 16 << 10 // bytes of path and query
	maxBody = 64 << 10 // bytes of a body
	// bodyTime is how long a body may take to come, and answerTime how long an
	// answer, from the request's turn to its last byte. Media has bounds of its own.
	bodyTime   = 10 * time.Second
	answerTime = time.Minute
	// maxWait is how long a request waits for its turn when as many as
	// maxConcurrent are being answered.
	maxWait = 10 * time.Second
)

// errTooLarge is the answer to a body above maxBody.
var errTooLarge = &failure{status: http.StatusRequestEntityTooLarge, text: "the body is too large"}

// bounded keeps the number, the size and the duration of requests within
// bounds, and waits the configured latency. A body is read whole before the
// request takes its turn, so that one that never comes holds nobody up.
func (s *Service) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.RequestURI) > maxURL {
			s.writeError(w, r, &failure{status: http.StatusRequestURITooLong, text: "the URL is too long"})
			return
		}
		if err := takeBody(w, r); err != nil {
			s.writeError(w, r, err)
			return
		}
		turn := time.NewTimer(maxWait)
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
		if s.opts.Latency > 0 && sleep(r.Context(), s.opts.Latency) != nil {
			return
		}
		// What cannot be bounded so, in tests without a connection, is not.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
		next.ServeHTTP(w, r)
	})
}

// takeBody reads a request's body and puts it in the request's place.
func takeBody(w http.ResponseWriter, r *http.Request) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not where there is no connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errTooLarge
	case err != nil:
		return badRequest("the body could not be read")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
