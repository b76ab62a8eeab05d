package receiver

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/archive/inbox"
)

// An attack changes a right delivery; the answer and whether anything is kept
// must be as said.
type attack struct {
	name   string
	change func(*http.Request)
	status int
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// signature makes the right signature and others of a request's id.
func signature(secret, id string, at time.Time, body []byte) string {
	wh, _ := standardwebhooks.NewWebhook(secret)
	s, _ := wh.Sign(id, at, body)
	return s
}

func withBody(b []byte) func(*http.Request) {
	return func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b)) }
}

func resign(id string, at time.Time) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("Webhook-Id", id)
		r.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
		r.Header.Set("Webhook-Signature", signature(secretA, id, at, []byte(meeting)))
	}
}

func attacks(now time.Time) []attack {
	right := signature(secretA, "msg_1", now, []byte(meeting))
	other := signature(secretB, "msg_1", now, []byte(meeting))
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, meeting)
	z.Close()
	list := []attack{
		{"right", func(*http.Request) {}, 200},
		{"signed with another secret", set("Webhook-Signature", other), 401},
		{"no signature", func(r *http.Request) { r.Header.Del("Webhook-Signature") }, 400},
		{"empty signature", set("Webhook-Signature", ""), 400},
		{"truncated signature", set("Webhook-Signature", right[:len(right)-1]), 401},
		{"version alone", set("Webhook-Signature", "v1,"), 401},
		{"signature without version", set("Webhook-Signature", right[3:]), 401},
		{"other version", set("Webhook-Signature", "v2,"+right[3:]), 401},
		{"asymmetric version", set("Webhook-Signature", "v1a,"+right[3:]), 401},
		{"upper-case version", set("Webhook-Signature", "V1,"+right[3:]), 401},
		{"right one last", set("Webhook-Signature", other+" v2,xyz "+right), 200},
		{"right one first", set("Webhook-Signature", right+" "+other), 200},
		{"right one twice", set("Webhook-Signature", right+" "+right), 200},
		{"commas between", set("Webhook-Signature", other+","+right), 401},
		{"characters in another order", set("Webhook-Signature", "v1,"+reverse(right[3:])), 401},
		{"10 KB of signatures", set("Webhook-Signature", strings.Repeat(other+" ", 220)), 400},
		{"two signature lines", func(r *http.Request) { r.Header["Webhook-Signature"] = []string{other, right} }, 400},
		{"two id lines", func(r *http.Request) { r.Header.Add("Webhook-Id", "msg_1") }, 400},
		{"two timestamp lines", func(r *http.Request) { r.Header.Add("Webhook-Timestamp", r.Header.Get("Webhook-Timestamp")) }, 400},
		{"no id", func(r *http.Request) { r.Header.Del("Webhook-Id") }, 400},
		{"another id", set("Webhook-Id", "msg_2"), 401},
		{"id with a dot", resign("msg.1", now), 400},
		{"id with a space", resign("msg 1", now), 400},
		{"id beyond ASCII", resign("msg_é", now), 400},
		{"id of 256 bytes", resign(strings.Repeat("x", 256), now), 200},
		{"id of 257 bytes", resign(strings.Repeat("x", 257), now), 400},
		{"id of 10 KB", resign(strings.Repeat("x", 10<<10), now), 400},
		{"no timestamp", func(r *http.Request) { r.Header.Del("Webhook-Timestamp") }, 400},
		{"another timestamp", set("Webhook-Timestamp", strconv.FormatInt(now.Unix()-1, 10)), 401},
		{"timestamp with a sign", set("Webhook-Timestamp", "+"+strconv.FormatInt(now.Unix(), 10)), 400},
		{"timestamp with a zero before it", set("Webhook-Timestamp", "0"+strconv.FormatInt(now.Unix(), 10)), 400},
		{"timestamp in words", set("Webhook-Timestamp", now.Format(time.RFC3339)), 400},
		{"timestamp in milliseconds", resign("msg_1", time.Unix(now.UnixMilli(), 0)), 401},
		{"negative timestamp", resign("msg_1", time.Unix(-1, 0)), 400},
		{"timestamp of 30 digits", set("Webhook-Timestamp", strings.Repeat("9", 30)), 400},
		{"as old as may be", resign("msg_1", now.Add(-5*time.Minute)), 200},
		{"older", resign("msg_1", now.Add(-5*time.Minute-time.Second)), 401},
		{"as new as may be", resign("msg_1", now.Add(5*time.Minute)), 200},
		{"newer", resign("msg_1", now.Add(5*time.Minute+time.Second)), 401},
		{"changed body", withBody([]byte(strings.Replace(meeting, "42", "43", 1))), 401},
		{"re-encoded body", withBody([]byte(strings.Replace(meeting, ":", ": ", 1))), 401},
		{"body with a newline more", withBody([]byte(meeting + "\n")), 401},
		{"empty body", withBody(nil), 401},
		{"gzip", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip"); withBody(zipped.Bytes())(r) }, 415},
		{"said to be deflate", set("Content-Encoding", "deflate"), 415},
		{"identity", set("Content-Encoding", "identity"), 200},
		{"two encodings", func(r *http.Request) { r.Header["Content-Encoding"] = []string{"identity", "br"} }, 415},
		{"chunked", func(r *http.Request) { r.ContentLength = -1 }, 200},
		{"another account", func(r *http.Request) { r.URL.Path = "/webhooks/bert" }, 401},
		{"no account", func(r *http.Request) { r.URL.Path = "/webhooks/" }, 404},
		{"a path below", func(r *http.Request) { r.URL.Path = "/webhooks/anna/x" }, 404},
		{"the page", func(r *http.Request) { r.URL.Path = "/" }, 404},
		{"the service", func(r *http.Request) { r.URL.Path = "/external/v1/meetings" }, 404},
		{"PUT", func(r *http.Request) { r.Method = "PUT" }, 405},
	}
	return list
}

func reverse(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

func TestAttacks(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	for _, a := range attacks(now) {
		t.Run(a.name, func(t *testing.T) {
			r := start(t, Options{Now: func() time.Time { return now }})
			req := signedRequest(t, r.url, "anna", secretA, "msg_1", now, []byte(meeting))
			a.change(req)
			got := send(t, req)
			if got.status != a.status {
				t.Fatalf("status %d %q, want %d", got.status, got.body, a.status)
			}
			kept := len(r.pending(t))
			if want := map[bool]int{true: 1}[a.status == 200]; kept != want {
				t.Errorf("%d deliveries are kept, want %d", kept, want)
			}
			if a.status == 405 && got.header.Get("Allow") != "POST" {
				t.Errorf("Allow is %q", got.header.Get("Allow"))
			}
		})
	}
}

// A delivery that was recorded on the wire is no new one after a restart, and an
// old one is not taken at all.
func TestReplayAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inbox.db")
	now := time.Now()
	clock := Options{Now: func() time.Time { return now }}
	r := startOn(t, path, inbox.Options{}, clock)
	recorded := func(r *running) *http.Request {
		return signedRequest(t, r.url, "anna", secretA, "msg_1", now.Truncate(time.Second), []byte(meeting))
	}
	first := recorded(r)
	if got := send(t, first).status; got != 200 {
		t.Fatalf("status %d", got)
	}
	r.stop()
	if err := r.inbox.Close(); err != nil {
		t.Fatal(err)
	}
	r = startOn(t, path, inbox.Options{}, clock)
	if got := send(t, recorded(r)).status; got != 200 {
		t.Errorf("replay: %d", got)
	}
	if c := r.Counts(); c.Accepted != 0 || c.Duplicates != 1 {
		t.Errorf("counts after the replay %+v", c)
	}
	late := recorded(r)
	now = now.Add(6 * time.Minute)
	if got := send(t, late).status; got != 401 {
		t.Errorf("replay six minutes later: %d", got)
	}
	if n := len(r.pending(t)); n != 1 {
		t.Errorf("%d deliveries are kept", n)
	}
}
