package rig

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"time"

	"minutebook/internal/pause"
)

// ErrCut is a wire's answer to a call that it was told to fail.
var ErrCut = errors.New("the wire was cut")

// Wire carries calls to a handler.
type Wire struct {
	Handler http.Handler
	// Delay is how long a call takes to be seen by the handler, and its answer to
	// come back; nil means no time.
	Delay func(*http.Request) (out, back time.Duration)
	// Fail is asked before a call is handed over, and after (answered true) before
	// its answer comes back; an error takes the answer's place. n counts the calls
	// from 1.
	Fail func(n int, r *http.Request, answered bool) error
	// FailPiece is asked before each piece of a body of media; an error takes its
	// place. n counts the pieces from 1.
	FailPiece func(n int) error
	// Piece is how many bytes of media come at a time; 0 means 32 KiB.
	Piece int
	// Rate is how many bytes a second bodies of media come in, over all of them
	// that come at a time; 0 means at once.
	Rate float64

	mu     sync.Mutex // guards the fields below
	calls  []Call
	pieces int
	free   time.Time // when the line is free for the next piece of media
}

// Call is one that was carried.
type Call struct {
	At       time.Time // sent
	Answered time.Time
	Method   string
	Path     string // without /external/v1
	Heavy    bool
	Status   int // 0: cut
}

// RoundTrip carries one call.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	n := w.begin(r)
	resp, err := w.carry(r, n)
	w.end(n, resp)
	return resp, err
}

func (w *Wire) begin(r *http.Request) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := r.URL.Query()
	path := strings.TrimPrefix(r.URL.Path, "/external/v1")
	heavy := q.Get("include_transcript") == "true" || q.Get("include_summary") == "true" ||
		strings.HasSuffix(path, "/transcript") || strings.HasSuffix(path, "/summary")
	w.calls = append(w.calls, Call{At: time.Now(), Method: r.Method, Path: path, Heavy: heavy})
	return len(w.calls)
}

func (w *Wire) end(n int, resp *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[n-1].Answered = time.Now()
	if resp != nil {
		w.calls[n-1].Status = resp.StatusCode
	}
}

func (w *Wire) carry(r *http.Request, n int) (*http.Response, error) {
	var out, back time.Duration
	if w.Delay != nil {
		out, back = w.Delay(r)
	}
	if err := pause.For(r.Context(), out); err != nil {
		return nil, err
	}
	if w.Fail != nil {
		if err := w.Fail(n, r, false); err != nil {
			return nil, err
		}
	}
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "192.0.2.1:1234", r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	aborted := serve(w.Handler, rec, in)
	if err := pause.For(r.Context(), back); err != nil {
		return nil, err
	}
	if w.Fail != nil {
		if err := w.Fail(n, r, true); err != nil {
			return nil, err
		}
	}
	if aborted && rec.Body.Len() == 0 {
		return nil, syscall.ECONNRESET
	}
	resp := rec.Result()
	resp.Request = r
	body := &trickle{ctx: r.Context(), rest: rec.Body.Bytes(), end: io.EOF}
	if strings.Contains(r.URL.Path, "/media/") {
		body.wire = w
	}
	body.bound(resp.ContentLength, aborted)
	resp.Body = body
	return resp, nil
}

// serve calls the handler as a server does, which lets it abort an answer.
func serve(h http.Handler, rec *httptest.ResponseRecorder, r *http.Request) (aborted bool) {
	defer func() {
		if p := recover(); p == http.ErrAbortHandler {
			aborted = true
		} else if p != nil {
			panic(p)
		}
	}()
	h.ServeHTTP(rec, r)
	return false
}

// Calls returns the calls carried so far.
func (w *Wire) Calls() []Call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Call(nil), w.calls...)
}

// Count counts the calls that match.
func (w *Wire) Count(match func(Call) bool) int {
	n := 0
	for _, c := range w.Calls() {
		if match(c) {
			n++
		}
	}
	return n
}

// trickle is a body, which may come over a line shared with others.
type trickle struct {
	ctx  context.Context
	wire *Wire // nil: it is there at once
	rest []byte
	end  error
}

// bound makes the body keep to its announced length, as HTTP does: no more than
// that is read, and less is an error.
func (t *trickle) bound(length int64, aborted bool) {
	switch n := int64(len(t.rest)); {
	case length >= 0 && n > length:
		t.rest = t.rest[:length]
	case aborted, length > n:
		t.end = io.ErrUnexpectedEOF
	}
}

// Read waits until the line has carried the next piece.
func (t *trickle) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		return 0, t.end
	}
	most := 32 << 10
	if t.wire != nil && t.wire.Piece > 0 {
		most = t.wire.Piece
	}
	n := copy(p[:min(len(p), most)], t.rest)
	if t.wire != nil {
		wait, err := t.wire.book(n)
		if err == nil {
			err = pause.For(t.ctx, wait)
		}
		if err != nil {
			return 0, err
		}
	}
	t.rest = t.rest[n:]
	return n, nil
}

// Close does nothing.
func (t *trickle) Close() error { return nil }

// book takes the line's next free time for n bytes and returns how long it is
// until they have come.
func (w *Wire) book(n int) (time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pieces++
	if w.FailPiece != nil {
		if err := w.FailPiece(w.pieces); err != nil {
			return 0, err
		}
	}
	if w.Rate <= 0 {
		return 0, nil
	}
	now := time.Now()
	if w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(float64(n) / w.Rate * float64(time.Second)))
	return w.free.Sub(now), nil
}

// Pieces is how many pieces of media were asked for.
func (w *Wire) Pieces() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pieces
}

// File is a recording of a size, for service.Options.Video.
func File(size int) func() (io.ReadSeeker, string) {
	data := bytes.Repeat([]byte("minutebook"), size/10+1)[:size]
	return func() (io.ReadSeeker, string) { return bytes.NewReader(data), "video/mp4" }
}
