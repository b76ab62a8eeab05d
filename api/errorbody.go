package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"minutebook/internal/rawjson"
)

// newError makes the Error of an answer to a request. Bodies have no schema: JSON of several
// forms, plain text, HTML and empty bodies occur.
func newError(c *call, r *http.Request, a *answer, h http.Header) *Error {
	e := &Error{Status: a.status, Method: c.method, Path: c.path, Cursor: c.query.Get("cursor") != ""}
	e.RetryAfter, _ = RetryAfter(h, a.answeredAt)
	e.Message = messageIn(h.Get("Content-Type"), a.body, secretsIn(c, r))
	return e
}

// leastSecret is how many bytes a text has at least that an error must not repeat. A shorter one
// would be found in any sentence.
const leastSecret = 6

// secretsIn returns the credential of a request and the secrets of its form.
func secretsIn(c *call, r *http.Request) (secrets []string) {
	texts := []string{r.Header.Get(apiKeyHeader), strings.TrimPrefix(r.Header.Get("Authorization"), bearer)}
	if c.form {
		form, _ := url.ParseQuery(string(c.body)) // it is written here
		texts = append(texts, form.Get("client_secret"), form.Get("refresh_token"), form.Get("code"))
	}
	for _, text := range texts {
		if len(text) >= leastSecret {
			secrets = append(secrets, text, url.QueryEscape(text))
		}
	}
	return secrets
}

var (
	addressPattern = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S+`)
	secretPattern  = regexp.MustCompile(`(?i)(whsec_|bearer\s+)\S+`)
)

// messageIn finds the sentence for a person in an error's body, without secrets and
// addresses, which may carry tokens, and without line breaks and control characters.
func messageIn(contentType string, body []byte, secrets []string) string {
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
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\ufffd", "") // as bytes that are no text are read in JSON
	text = strings.Join(strings.FieldsFunc(text, isUnseen), " ")
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
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
