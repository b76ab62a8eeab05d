package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// Handler serves the protocol over HTTP, each request by itself. The caller
// guards it against foreign hosts and pages.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

// serveHTTP answers as the library does, but with errors of the protocol where the library
// refuses a message in plain text.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	var message bytes.Buffer
	r = r.Clone(r.Context())
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, &message), r.Body}
	reply := &reply{header: w.Header(), status: http.StatusOK}
	s.handler.ServeHTTP(reply, r)
	body := reply.body.Bytes()
	if reply.status == http.StatusBadRequest && !json.Valid(body) {
		w.Header().Set("Content-Type", "application/json")
		var code int
		if body, code = refusal(message.Bytes(), bytes.TrimSpace(body)); code == methodNotFound && readID(message.Bytes()) != nil {
			reply.status = http.StatusOK
		}
	}
	w.WriteHeader(reply.status)
	_, _ = w.Write(body) // the assistant has gone otherwise
}
