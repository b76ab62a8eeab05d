package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"

	"minutebook/internal/rawjson"
)

// newError makes the Error of an answer. Bodies have no schema: JSON of several
// forms, plain text, HTML and empty bodies occur.
func newError(c *call, status int, h http.Header, body []byte, now time.Time) *Error {
	e := &Error{Status: status, Method: c.method, Path: c.path, Cursor: c.query.Get("cursor") != ""}
	e.RetryAfter, _ = RetryAfter(h, now)
	e.Message = messageIn(h.Get("Content-Type"), body)
	return e
}

var (
	addressPattern = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S+`)
	secretPattern  = regexp.MustCompile(`(?i)(whsec_|bearer\s+)\S+`)
)

// messageIn finds the sentence for a person in an error's body, without
// addresses, which may carry tokens, and without line breaks and control characters.
func messageIn(contentType string, body []byte) string {
	body = bytes.TrimSpace(body)
	text := ""
	switch {
	case len(body) == 0:
	case json.Valid(body):
		text = jsonMessage(body, 0)
	case !strings.Contains(contentType, "html") && body[0] != '<':
		text = string(body)
	}
	isUnseen := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), isUnseen), " ")
	text = addressPattern.ReplaceAllString(text, "[address]")
	text = secretPattern.ReplaceAllString(text, "[secret]")
	return shorten(text, 300)
}

// jsonMessage returns the first string under the usual keys, in their order.
func jsonMessage(raw []byte, depth int) string {
	raw = bytes.TrimSpace(raw)
	if depth > 4 || len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return rawjson.Text(raw)
	case '[':
		for v := range rawjson.Elements(raw) {
			if first := jsonMessage(v, depth+1); first != "" {
				return first
			}
		}
	case '{':
		members := rawjson.Map(raw)
		if about := jsonMessage(members["error_description"], depth+1); about != "" {
			return strings.TrimPrefix(jsonMessage(members["error"], depth+1)+": "+about, ": ")
		}
		for _, key := range []string{"message", "error", "errors", "detail", "title"} {
			if v, ok := members[key]; ok {
				if text := jsonMessage(v, depth+1); text != "" {
					return text
				}
			}
		}
	}
	return ""
}
