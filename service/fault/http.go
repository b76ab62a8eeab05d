package fault

import (
	"bytes"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Handler damages the answers of next by the plan. now dates a Retry-After.
func (p *Plan) Handler(next http.Handler, now func() time.Time) http.Handler {
	if len(p.rates) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := Key(r)
		switch {
		case p.Roll(Reset, key):
			resetConnection(w)
		case p.Roll(TooMany, key):
			w.Header().Set("Retry-After", p.RetryAfter(key, 1, now()))
			writePage(w, http.StatusTooManyRequests, "")
		case p.Roll(BadGateway, key):
			writePage(w, http.StatusBadGateway, "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n")
		case p.Roll(Unavailable, key):
			writePage(w, http.StatusServiceUnavailable, "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>\n")
		default:
			p.applyFault(w, r, key, next)
		}
	})
}

// applyFault damages the answer of next.
func (p *Plan) applyFault(w http.ResponseWriter, r *http.Request, key string, next http.Handler) {
	if p.Roll(NoHeaders, key) {
		w = &withoutLimits{w}
	}
	truncate, length := p.Roll(Truncate, key), p.Roll(Length, key)
	if !truncate && !length && !p.hasListFaults() {
		next.ServeHTTP(w, r)
		return
	}
	buffered := &bufferedAnswer{header: w.Header()}
	next.ServeHTTP(buffered, r)
	body := p.reshape(r.URL.Path, key, buffered.body.Bytes())
	if !truncate && !length {
		if len(body) != buffered.body.Len() {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(max(buffered.status, http.StatusOK))
		_, _ = w.Write(body)
		return
	}
	part := body[:len(body)/2]
	if length && len(part) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(part)))
	}
	w.WriteHeader(max(buffered.status, http.StatusOK)) // 0 when the caller has gone
	_, _ = w.Write(part)
	if truncate {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // how net/http cuts a connection off
	}
}

// Key names the subject of a request, without the parts that differ between runs.
func Key(r *http.Request) string {
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

// writePage answers as a proxy in front of the service does.
func writePage(w http.ResponseWriter, status int, body string) {
	h := w.Header()
	dropLimits(h)
	h.Set("Content-Type", "text/html")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// resetConnection closes the connection without an answer.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Media returns the writer for the file of a recording: w, or one that declares
// and sends half of the file.
func (p *Plan) Media(recordingID int64, w http.ResponseWriter) http.ResponseWriter {
	if p.Roll(Length, "media "+strconv.FormatInt(recordingID, 10)) {
		return &shortLength{ResponseWriter: w}
	}
	return w
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

// Write sends as much as the declared length has room for.
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
