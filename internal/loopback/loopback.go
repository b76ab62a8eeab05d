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
	"strconv"
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
	if err := t.fail(r, false); err != nil {
		return nil, err
	}
	if err := wait(r, t.Before); err != nil {
		return nil, err
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	t.Handler.ServeHTTP(rec, serverRequest(r, body))
	if err := wait(r, t.After); err != nil {
		return nil, err
	}
	if err := t.fail(r, true); err != nil {
		return nil, err
	}
	return rec.response(r), nil
}

func (t *Transport) fail(r *http.Request, answered bool) error {
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

// recorder takes a handler's answer.
type recorder struct {
	header  http.Header
	sent    http.Header // as it was when the status was written
	status  int
	body    bytes.Buffer
	written bool
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.written || status < 200 {
		return
	}
	r.written, r.status, r.sent = true, status, r.header.Clone()
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

// Flush lets handlers stream; the client gets the whole at once.
func (r *recorder) Flush() { r.WriteHeader(http.StatusOK) }

func (r *recorder) response(req *http.Request) *http.Response {
	r.WriteHeader(http.StatusOK)
	if req.Method == http.MethodHead {
		r.body.Reset()
	}
	return &http.Response{
		Status: strconv.Itoa(r.status) + " " + http.StatusText(r.status), StatusCode: r.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.sent, Body: io.NopCloser(&r.body), ContentLength: int64(r.body.Len()), Request: req,
	}
}
