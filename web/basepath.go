package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

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

// checkRoutes fails when the base path begins as an address of the page does: a request
// for it would have two meanings.
func (b basePath) checkRoutes(patterns []string) error {
	first := func(path string) string {
		segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		return segment
	}
	for _, pattern := range append(patterns, "/external/v1/") {
		_, path, _ := strings.Cut(pattern, "/")
		if b != "" && first(path) == first(string(b)) {
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
