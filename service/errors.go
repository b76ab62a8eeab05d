package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"minutebook/service/fault"
	"minutebook/service/limit"
)

// failure is an answer of 400 and above: {"error": "text"} with its status
// (section 7). Its text is for the caller and tells nothing about meetings that the
// caller may not see.
type failure struct {
	status int
	text   string
	detail string        // error_description of the OAuth endpoints
	retry  time.Duration // for 429: until one call is free
}

// Error implements error.
func (f *failure) Error() string { return f.text }

func badRequest(format string, args ...any) *failure {
	return &failure{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

func unauthorized(text string) *failure {
	return &failure{status: http.StatusUnauthorized, text: text}
}

func forbidden(text string) *failure {
	return &failure{status: http.StatusForbidden, text: text}
}

// notFound is the one answer for things that do not exist and for things that the
// caller may not see.
func notFound(what string) *failure {
	return &failure{status: http.StatusNotFound, text: what + " not found"}
}

// writeError answers with err. An error that is no failure is logged and answered
// 500 without its text.
func (s *Service) writeError(w http.ResponseWriter, r *http.Request, err error) {
	var f *failure
	if !errors.As(err, &f) {
		if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
			return
		}
		s.log.Error().Err(err).Str("path", r.URL.Path).Str("method", r.Method).Msg("request failed")
		f = &failure{status: http.StatusInternalServerError, text: "internal error"}
	}
	body := map[string]string{"error": f.text}
	if f.detail != "" {
		body["error_description"] = f.detail
	}
	switch {
	case f.status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", s.faults.RetryAfter(fault.Key(r), max(limit.WholeSeconds(f.retry), 1), s.now()))
	case f.status == http.StatusUnauthorized && f.detail != "": // an app, which may use HTTP Basic
		w.Header().Set("WWW-Authenticate", `Basic realm="minutebook"`)
	case f.status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="minutebook"`)
	}
	writeJSON(w, f.status, body)
}

// writeJSON answers with v. A failure of writing is the caller's going away.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"internal error"}`)
	}
	writeBody(w, status, body)
}

// writeBody answers with JSON that is already written.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
