package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the description
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"minutebook/search"
)

// openAPI describes /api/v1.
//
//go:embed openapi.yaml
var openAPI []byte

// apiDescription answers with the description of the interface.
func (s *server) apiDescription(w http.ResponseWriter, r *http.Request) error {
	const server = "\n  - url: /"
	writeTagged(w, r, "application/yaml; charset=utf-8",
		bytes.Replace(openAPI, []byte(server+"\n"), []byte(server+strings.TrimPrefix(string(s.base), "/")+"\n"), 1))
	return nil
}

// problem is the answer to a failed request (RFC 9457).
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Position *int   `json:"position,omitempty"` // of a mistake in a query, in bytes
	Hint     string `json:"hint,omitempty"`
}

// failJSON answers an error as a problem.
func (s *server) failJSON(w http.ResponseWriter, r *http.Request, err error) {
	f := s.toFailure(r, err)
	p := problem{Type: "about:blank", Title: http.StatusText(f.status), Status: f.status, Detail: f.message}
	var wrong *search.QueryError
	if errors.As(err, &wrong) {
		p.Detail, p.Position, p.Hint = wrong.Message, &wrong.Pos, wrong.Hint
	}
	h := w.Header()
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(encodeJSON(p)) // the client may have disconnected
}

// answerJSON answers with a value, or says that the client has it already.
func answerJSON(w http.ResponseWriter, r *http.Request, v any) error {
	writeTagged(w, r, "application/json; charset=utf-8", encodeJSON(v))
	return nil
}

// writeJSON answers with a value that is not kept.
func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(encodeJSON(v)) // the client may have disconnected
}

// encodeJSON encodes a value of this package, which always can be.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return b.Bytes()
}

// writeTagged writes a body with its ETag, or 304 to a client that holds it. The tag is
// weak, since the body may be compressed on the way.
func writeTagged(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	if holdsTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", contentType)
	_, _ = w.Write(body) // the client may have disconnected
}

// holdsTag reports whether a tag is in an If-None-Match header, by the weak comparison.
func holdsTag(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		if candidate = strings.TrimSpace(candidate); candidate == "*" || strings.TrimPrefix(candidate, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

func (s *server) apiUnknown(http.ResponseWriter, *http.Request) error {
	return &failure{http.StatusNotFound, "There is nothing at this address."}
}

// parseNumber reads a whole number between minimum and maximum from a query, or def if
// it is missing.
func parseNumber(q url.Values, key string, def, minimum, maximum int) (int, error) {
	v := q.Get(key)
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < minimum || n > maximum {
		return 0, &failure{http.StatusBadRequest,
			key + " is a number from " + strconv.Itoa(minimum) + " to " + strconv.Itoa(maximum)}
	}
	return n, nil
}

// parseFlag reads true or false from a query; a missing one is false.
func parseFlag(q url.Values, key string) (bool, error) {
	switch q.Get(key) {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, &failure{http.StatusBadRequest, key + " is true or false"}
}
