package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// newCompressor returns a wrapper that compresses a handler's answers for browsers
// that accept gzip. It wraps pages, data and static files, but neither recordings
// nor event streams, which are answered byte by byte.
//
// A page holds both text that a stranger can choose (the query) and text that is
// secret, so that its compressed size would leak the secret (BREACH). A little
// random padding hides it.
func newCompressor() (func(http.Handler) http.HandlerFunc, error) {
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.RandomJitter(32, 0, false),
		gzhttp.ContentTypes([]string{"text/html", "text/css", "text/javascript", "text/plain", "text/markdown", "text/vtt", "application/x-subrip",
			"application/json", "application/problem+json", "application/yaml", "image/svg+xml"}))
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.HandlerFunc {
		compressed := compress(next)
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead { // has the headers of GET; net/http leaves out the body
				r = r.WithContext(r.Context())
				r.Method = http.MethodGet
			}
			compressed(w, r)
		}
	}, nil
}
