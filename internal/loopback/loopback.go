// Package loopback joins an HTTP client to a handler inside one process, without
// sockets: for tests and measurements in virtual time (testing/synctest), where
// a call's latency before and after the server has counted it can be chosen.
//
// It keeps nothing and starts no goroutine.
package loopback

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"
)

// Transport is an http.RoundTripper that calls a handler.
type Transport struct {
	Handler http.Handler
	// Before and After are how long a call takes until the handler sees it and
	// from there to the client; nil: no time.
	Before, After func(*http.Request) time.Duration
	// Fail, where set, is asked when the call is sent (answered false) and when
	// its answer is ready (answered true); an error breaks the connection there.
	Fail func(r *http.Request, answered bool) error
}

var errBody = errors.New("read the request's body")

// RoundTrip serves one request. It ends early when the request's context ends,
// though the handler may still see the request, as with a real connection.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, errors.Join(errBody, err)
		}
	}
	if err := t.failure(r, false); err != nil {
		return nil, err
	}
	if err := wait(r, t.Before); err != nil {
		return nil, err
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK, declared: -1}
	aborted := serve(t.Handler, rec, serverRequest(r, body))
	if err := wait(r, t.After); err != nil {
		return nil, err
	}
	if aborted && !rec.written {
		return nil, syscall.ECONNRESET
	}
	if err := t.failure(r, true); err != nil {
		return nil, err
	}
	return rec.response(r, aborted), nil
}

// serve runs the handler and reports whether it broke off the connection, which
// handlers do by panicking with http.ErrAbortHandler.
func serve(h http.Handler, rec *recorder, r *http.Request) (aborted bool) {
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

func (t *Transport) failure(r *http.Request, answered bool) error {
	if t.Fail == nil {
		return nil
	}
	return t.Fail(r, answered)
}

// serverRequest is r as a server would see it.
func serverRequest(r *http.Request, body []byte) *http.Request {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:1"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	in.ContentLength = int64(len(body))
	return in
}

func wait(r *http.Request, d func(*http.Request) time.Duration) error {
	if d == nil {
		return nil
	}
	t := time.NewTimer(d(r))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.Context().Done():
		return context.Cause(r.Context())
	}
}
