package httpserver

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// paceAnswers gives the reader of an answer a time for each piece of it.
func paceAnswers(next http.Handler, each time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w, control: http.NewResponseController(w), ctx: r.Context(), each: each}
		next.ServeHTTP(a, r)
		a.extend() // for the bytes that net/http still holds
	})
}

// answer moves the write deadline on with every write, until the handler sets
// a deadline of its own.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	ctx     context.Context // of the request
	each    time.Duration
	own     atomic.Bool // the handler has set a deadline, perhaps while it writes
}

func (a *answer) extend() {
	if !a.own.Load() {
		_ = a.control.SetWriteDeadline(time.Now().Add(a.each)) // not in tests without a connection
	}
}

// Write writes a piece of the answer.
func (a *answer) Write(b []byte) (int, error) {
	a.extend()
	markWritten(a.ctx)
	return a.ResponseWriter.Write(b)
}

// FlushError sends the bytes written so far.
func (a *answer) FlushError() error {
	a.extend()
	return a.control.Flush()
}

// Flush is FlushError for callers that use http.Flusher.
func (a *answer) Flush() { _ = a.FlushError() }

// SetWriteDeadline sets the deadline and stops moving it: from now on the handler
// is responsible for the time of its answer.
func (a *answer) SetWriteDeadline(t time.Time) error {
	a.own.Store(true)
	return a.control.SetWriteDeadline(t)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
