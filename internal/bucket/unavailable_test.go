package bucket

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"minutebook/internal/testrun"
)

// TestAServerThatBreaksOff asks a bucket whose server is busy, hangs up, or ends an answer
// too early: the error says so in plain words.
func TestAServerThatBreaksOff(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "someone")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not a secret")
	for want, answer := range map[string]http.HandlerFunc{
		"it has too much to do: nothing is lost": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
		},
		"the connection ends before its answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"the connection ends before its answer: unexpected EOF": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			io.WriteString(w, "half")
		},
	} {
		server := httptest.NewServer(answer)
		b, err := Open("s3://minutes/office?region=us-east-1&endpoint=" + url.QueryEscape(server.URL))
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.ReadSmall(t.Context(), "file", 1000)
		if err == nil || !IsUnavailable(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "http://") {
			t.Errorf("%v does not say: %s", err, want)
		}
		server.CloseClientConnections()
		server.Close()
	}
}
