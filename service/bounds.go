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
)

// patience is how long a request may keep what it uses.
type patience struct {
	body   time.Duration // of a body, from the end of the headers to its last byte
	turn   time.Duration // of a request's turn, when as many as maxConcurrent are being answered
	judge  time.Duration // of the judgement that a reader of media may see it
	answer time.Duration // of an answer, from the request's turn to its last byte
	stall  time.Duration // of a reader of media that takes nothing
}

// usualPatience is the patience of every Service but those of tests.
func usualPatience() patience {
	return patience{body: 10 * time.Second, turn: 10 * time.Second, answer: time.Minute, stall: 30 * time.Second, judge: 10 * time.Second}
}

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
		turn := time.NewTimer(s.patience.turn)
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
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience.answer))
		next.ServeHTTP(w, r)
	})
}

// timed gives every request its deadlines before anything looks at it, so that
// what is refused at once is bounded too, and nothing that an earlier request of
// the connection set stays. Where there is no connection, in some tests, nothing
// is bounded.
func (s *Service) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(s.patience.body))
		}
		_ = control.SetWriteDeadline(time.Now().Add(s.patience.body + s.patience.turn + s.patience.answer))
		next.ServeHTTP(w, r)
	})
}

// takeBody reads a request's body and puts it in the request's place. The
// deadline of timed is not lifted here: net/http lifts it at the body's end, and
// reads what is left of a body before it sends an answer, so that it would wait
// for ever for one that has stopped.
func takeBody(w http.ResponseWriter, r *http.Request) error {
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
