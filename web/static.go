package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
)

//go:embed static
var staticFiles embed.FS

// assets are the embedded files under addresses that contain their hash, so
// that a browser keeps them for good and a new build is seen at once.
type assets struct {
	byPath  map[string]asset  // "/static/HASH/app.js"
	address map[string]string // "app.js" to its address
}

type asset struct {
	body        []byte
	contentType string
}

// unread is the part of a script that browsers need not read: comments on lines of their own,
// and indentation, together a fifth of its compressed size. No string of a script may run
// over lines.
var unread = regexp.MustCompile(`(?m)^[ \t]*//.*\n|^[ \t]+`)

// loadAssets hashes all files together, as they are served: the stylesheet names its fonts
// relatively, so one hash must cover both.
func loadAssets() (*assets, error) {
	a := &assets{byPath: map[string]asset{}, address: map[string]string{}}
	files := map[string][]byte{}
	sum := sha256.New()
	err := fs.WalkDir(staticFiles, "static", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := staticFiles.ReadFile(p)
		if err != nil {
			return err
		}
		if path.Ext(p) == ".js" {
			body = unread.ReplaceAll(body, nil)
		}
		name := strings.TrimPrefix(p, "static/")
		files[name] = body
		fmt.Fprintf(sum, "%s %d\n", name, len(body))
		sum.Write(body)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the page's own files: %w", err)
	}
	version := hex.EncodeToString(sum.Sum(nil))[:12]
	for name, body := range files {
		address := "/static/" + version + "/" + name
		a.byPath[address] = asset{body, contentType(name)}
		a.address[name] = address
	}
	return a, nil
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".woff2":
		return "font/woff2"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// ServeHTTP serves an asset to be kept for a year: its address changes with it.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := a.byPath[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.contentType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}

func (s *server) favicon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, s.assets.address["icon.svg"], http.StatusFound)
}

type headKey struct{}

// isHead reports whether a request asked for the headers alone: nobody is shown its answer.
func isHead(ctx context.Context) bool {
	is, _ := ctx.Value(headKey{}).(bool)
	return is
}

// markHead returns the context of a request, by which isHead knows its method.
func markHead(r *http.Request) context.Context {
	if r.Method != http.MethodHead {
		return r.Context()
	}
	return context.WithValue(r.Context(), headKey{}, true)
}

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
				r = r.WithContext(markHead(r))
				r.Method = http.MethodGet
			}
			compressed(w, r)
		}
	}, nil
}
