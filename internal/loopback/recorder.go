package loopback

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// recorder takes a handler's answer.
type recorder struct {
	header   http.Header
	sent     http.Header // as it was when the status was written
	status   int
	declared int // Content-Length; -1: none
	body     bytes.Buffer
	written  bool
}

// Header is the header to be sent.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader fixes status and header; informational ones are dropped.
func (r *recorder) WriteHeader(status int) {
	if r.written || status < 200 {
		return
	}
	r.written, r.status, r.sent = true, status, r.header.Clone()
	if n, err := strconv.Atoi(r.sent.Get("Content-Length")); err == nil && n >= 0 {
		r.declared = n
	}
}

// Write takes no more than the declared length, as a server does.
func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.declared >= 0 && r.body.Len()+len(b) > r.declared {
		return 0, http.ErrContentLength
	}
	return r.body.Write(b)
}

// Flush lets handlers stream; the client gets the whole at once.
func (r *recorder) Flush() { r.WriteHeader(http.StatusOK) }

// response is the answer for the client. A body that was broken off, or is
// shorter than declared, ends with io.ErrUnexpectedEOF.
func (r *recorder) response(req *http.Request, aborted bool) *http.Response {
	r.WriteHeader(http.StatusOK)
	length := int64(r.body.Len())
	var body io.Reader = &r.body
	switch {
	case req.Method == http.MethodHead:
		length, body = int64(r.declared), http.NoBody
	case aborted || r.declared > r.body.Len():
		length, body = int64(r.declared), io.MultiReader(&r.body, cut{})
	}
	return &http.Response{
		Status: strconv.Itoa(r.status) + " " + http.StatusText(r.status), StatusCode: r.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: r.sent, Body: io.NopCloser(body), ContentLength: length, Request: req,
	}
}

// cut is where a body breaks off.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
