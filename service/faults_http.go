package service

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"minutebook/api"
)

// faulty lets what is asked for go wrong with the answers of next.
func (s *Service) faulty(next http.Handler) http.Handler {
	if len(s.faults.rates) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := faultKey(r)
		switch {
		case s.faults.roll(faultReset, key):
			reset(w)
		case s.faults.roll(faultTooMany, key):
			w.Header().Set("Retry-After", s.faults.retryAfter(key, 1, s.now()))
			page(w, http.StatusTooManyRequests, "")
		case s.faults.roll(faultBadGate, key):
			page(w, http.StatusBadGateway, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
		case s.faults.roll(faultDown, key):
			page(w, http.StatusServiceUnavailable, "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>\n")
		default:
			s.spoil(w, r, key, next)
		}
	})
}

// spoil answers with next and damages what it wrote.
func (s *Service) spoil(w http.ResponseWriter, r *http.Request, key string, next http.Handler) {
	if s.faults.roll(faultNoHeaders, key) {
		w = &withoutLimits{w}
	}
	truncate, length := s.faults.roll(faultTruncate, key), s.faults.roll(faultLength, key)
	if !truncate && !length && !s.faults.reshapes() {
		next.ServeHTTP(w, r)
		return
	}
	buffered := &bufferedAnswer{header: w.Header()}
	next.ServeHTTP(buffered, r)
	body := s.faults.reshape(r.URL.Path, key, buffered.body.Bytes())
	if !truncate && !length {
		if len(body) != buffered.body.Len() {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(max(buffered.status, http.StatusOK))
		_, _ = w.Write(body)
		return
	}
	half := body[:len(body)/2]
	if length && len(half) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(half)))
	}
	w.WriteHeader(max(buffered.status, http.StatusOK)) // 0 when the caller has gone
	_, _ = w.Write(half)
	if truncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // how net/http cuts a connection off
	}
}

// faultKey is what a request is about, without what differs between runs.
func faultKey(r *http.Request) string {
	q := url.Values{}
	for name, values := range r.URL.Query() {
		if name != "cursor" && name != "destination_url" {
			q[name] = values
		}
	}
	path := r.URL.Path
	if id := r.PathValue("download_id"); id != "" {
		path = strings.TrimSuffix(path, id)
	}
	return r.Method + " " + path + "?" + q.Encode()
}

// page answers as a proxy in front of the service does.
func page(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	dropLimits(h)
	h.Set("Content-Type", "text/html")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// reset closes the connection without an answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// late makes a recording's content arrive late: the first three reads find it
// null, missing and empty. It returns how to answer, nil for rightly.
func (f *faults) late(id int64, part string, read bool) func(w http.ResponseWriter, key string) error {
	name := strconv.FormatInt(id, 10)
	if !read || !f.fixed(faultLate, name) {
		return nil
	}
	switch f.count("late read " + name + part) {
	case 0:
		return func(w http.ResponseWriter, key string) error {
			writeBody(w, http.StatusOK, []byte(`{"`+key+`":null}`))
			return nil
		}
	case 1:
		return func(_ http.ResponseWriter, key string) error { return notFound(key) }
	case 2:
		return func(w http.ResponseWriter, key string) error {
			empty := `[]`
			if key == "summary" {
				empty = `null`
			}
			writeBody(w, http.StatusOK, []byte(`{"`+key+`":`+empty+`}`))
			return nil
		}
	}
	return nil
}

// lateParts is late for the items of the list.
func (f *faults) lateParts(id int64, parts map[api.Part]json.RawMessage) {
	name := strconv.FormatInt(id, 10)
	if !f.fixed(faultLate, name) || f.count("late list "+name) >= 3 {
		return
	}
	delete(parts, api.PartTranscript)
	delete(parts, api.PartSummary)
}

// expired says whether a media link is refused before its time.
func (f *faults) expired(recordingID int64) bool {
	return f.roll(faultExpire, strconv.FormatInt(recordingID, 10))
}

// spoilLength serves a file, at times with a Content-Length that is too small.
func (f *faults) spoilLength(d *download, w http.ResponseWriter, serve func(http.ResponseWriter)) {
	if f.roll(faultLength, "media "+strconv.FormatInt(d.recordingID, 10)) {
		w = &shortLength{ResponseWriter: w}
	}
	serve(w)
}

// shortLength declares half of the length, and sends as much: the answer looks
// whole.
type shortLength struct {
	http.ResponseWriter
	left int
}

// WriteHeader halves the Content-Length that was set.
func (s *shortLength) WriteHeader(status int) {
	if n, err := strconv.Atoi(s.Header().Get("Content-Length")); err == nil && n > 1 {
		s.left = n / 2
		s.Header().Set("Content-Length", strconv.Itoa(s.left))
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write sends what is still within the length.
func (s *shortLength) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p[:min(s.left, len(p))])
	if s.left -= n; err == nil && n < len(p) {
		err = http.ErrContentLength
	}
	return n, err
}

// withoutLimits drops the RateLimit fields of an answer.
type withoutLimits struct{ http.ResponseWriter }

// WriteHeader drops the fields.
func (n *withoutLimits) WriteHeader(status int) {
	dropLimits(n.Header())
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController the answer underneath.
func (n *withoutLimits) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func dropLimits(h http.Header) {
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		h.Del(name)
	}
}

// bufferedAnswer keeps an answer back.
type bufferedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the header of the answer that will be sent.
func (b *bufferedAnswer) Header() http.Header { return b.header }

// WriteHeader keeps the status.
func (b *bufferedAnswer) WriteHeader(status int) { b.status = status }

// Write keeps the bytes.
func (b *bufferedAnswer) Write(p []byte) (int, error) {
	if b.status == 0 {
		b.status = http.StatusOK
	}
	return b.body.Write(p)
}
