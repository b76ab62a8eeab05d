package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// newCompressor makes what compresses the answers of a handler for browsers that
// take gzip. It is put around pages, data and the page's own files, and
// not around recordings and event streams: those are answered byte by byte.
//
// The size of a page with what somebody else may put in it (the query) and what
// they may not see would tell of both, so that a little noise is added.
func newCompressor() (func(http.Handler) http.HandlerFunc, error) {
	compress, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.RandomJitter(32, 0, false),
		gzhttp.ContentTypes([]string{"text/html", "text/css", "text/javascript", "text/plain", "text/markdown", "text/vtt",
			"application/json", "image/svg+xml"}))
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
