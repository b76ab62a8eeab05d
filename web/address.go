package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"minutebook/web/access"
)

// meetingAddress returns the address of a meeting's page. With at >= 0 the page
// opens at that moment, with entry >= 0 it scrolls to that line of the transcript,
// and with a query it marks the matches.
func meetingAddress(id int64, at time.Duration, entry int, query string) string {
	address := "/meetings/" + strconv.FormatInt(id, 10)
	mark := "?"
	if at >= 0 {
		address += mark + "t=" + strconv.FormatInt(int64(at/time.Second), 10)
		mark = "&"
	}
	if query != "" {
		address += mark + "q=" + url.QueryEscape(query)
	}
	if at >= 0 && entry >= 0 {
		address += fmt.Sprintf("#e%d", entry)
	}
	return address
}

// atSecond returns the address of a moment relative to the meeting's page.
func atSecond(seconds int64) string { return "?t=" + strconv.FormatInt(seconds, 10) }

// recordingID reads the meeting's number from the path.
func recordingID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, &failure{http.StatusNotFound, "A meeting's address ends in its number."}
	}
	return id, nil
}

// parseMoment reads ?t=: 83, 83.5, 83s, 1m23s, 1:23 or 1:02:03. It returns -1 for
// a missing or malformed time.
func parseMoment(r *http.Request) time.Duration { return parseOffset(r.URL.Query().Get("t")) }

// parseSpan reads ?t= and &end=, in the same forms. The end is -1 unless it is after the
// beginning.
func parseSpan(r *http.Request) (from, to time.Duration) {
	from, to = parseMoment(r), parseOffset(r.URL.Query().Get("end"))
	if from < 0 || to <= from {
		to = -1
	}
	return from, to
}

// parseOffset reads an offset into a recording. It returns -1 for a missing or malformed
// one.
func parseOffset(text string) time.Duration {
	const most = 1e6 * time.Second
	if at, err := time.ParseDuration(text); err == nil && at >= 0 && at <= most {
		return at
	}
	seconds := 0.0
	for _, part := range strings.SplitN(text, ":", 3) {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || !(n >= 0) {
			return -1
		}
		seconds = seconds*60 + n
	}
	if seconds > most.Seconds() {
		return -1
	}
	return time.Duration(seconds * float64(time.Second))
}

// webAddress returns the address of an http or https link, and "" for others.
func webAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return text
}

// basePath is the path of the page's public address, such as /minutebook, and "" at the
// root of its host.
//
// Routes, redirects and the addresses that the code makes are written without it. It
// comes off a request before anything looks at the path, and onto an address where it is
// sent to a browser: by the templates' function path, and in the Location header.
type basePath string

// basePathOf returns the base path of a public address.
func basePathOf(public *url.URL) basePath {
	if public == nil {
		return ""
	}
	return basePath(strings.TrimRight(public.Path, "/"))
}

// CheckPublicURL fails when the path of the page's public address begins as an address of
// the page does, with these settings or others: a request for it would have two meanings.
func CheckPublicURL(public *url.URL) error {
	first := func(path string) string {
		segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		return segment
	}
	base := basePathOf(public)
	if base == "" {
		return nil
	}
	unused := &server{Options: Options{Entry: Entry{People: &access.DB{}, Passwords: true}}, compress: func(http.Handler) http.HandlerFunc { return nil }}
	for _, r := range append(unused.routes(), route{pattern: "/external/v1/"}) {
		_, path, _ := strings.Cut(r.pattern, "/")
		if first(path) == first(string(base)) {
			return fmt.Errorf("read web.public_url: its path begins with /%s, as addresses of the page do; choose another one", first(path))
		}
	}
	return nil
}

// contains reports whether a path is at or under the base path.
func (b basePath) contains(path string) bool {
	rest, ok := strings.CutPrefix(path, string(b))
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '?')
}

// path returns the address that a browser asks for: an absolute path gets the base path,
// and anything else, such as ?t=83 or https://example.org/, stays as it is.
func (b basePath) path(address string) string {
	if b == "" || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || b.contains(address) {
		return address
	}
	return string(b) + address
}

// handler takes the base path off requests, for proxies that leave it on. Most take it
// off themselves, so that a request without it is answered too.
func (b basePath) handler(next http.Handler) http.Handler {
	if b == "" {
		return next
	}
	bare := http.StripPrefix(string(b), next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = &baseWriter{ResponseWriter: w, base: b}
		switch {
		case r.URL.Path == string(b):
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = "/", ""
			next.ServeHTTP(w, r)
		case b.contains(r.URL.Path):
			bare.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// baseWriter puts the base path onto redirects, and leaves out their bodies, which repeat
// the address.
type baseWriter struct {
	http.ResponseWriter
	base     basePath
	redirect bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *baseWriter) WriteHeader(status int) {
	if to := w.Header().Get("Location"); to != "" {
		w.Header().Set("Location", w.base.path(to))
		w.redirect = status >= 300 && status < 400
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *baseWriter) Write(body []byte) (int, error) {
	if w.redirect {
		return len(body), nil
	}
	return w.ResponseWriter.Write(body)
}

// Unwrap returns the wrapped writer, for [http.ResponseController].
func (w *baseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
