package years

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// brokenHeaders are the errors of connections that break within the headers of an answer.
var brokenHeaders = []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET},
	errors.New("net/http: HTTP/1.x transport connection broken: malformed MIME header: missing colon: \"RateLi\""),
	errors.New("net/http: server response headers exceeded 1048576 bytes; aborted")}

// oddWaits are values of Retry-After.
var oddWaits = []string{"-5", "1.5", "soon", "0", "90, 90", "Wed, 21 Oct 2015 07:28:00 GMT", "7200", "NaN"}

// redirect answers that the resource is elsewhere: at the same host, or at another one.
func redirect(r *http.Request, g *rand.Rand) *http.Response {
	resp := answer(r, []int{301, 302, 303, 307, 308}[g.IntN(5)], "text/html", "<html>Moved</html>")
	to := *r.URL
	switch g.IntN(3) {
	case 0:
		to.Host = "elsewhere.test"
	case 1:
		to.Path += "/"
	default:
		to.Scheme = "https"
	}
	resp.Header.Set("Location", to.String())
	return resp
}

// elsewhere answers for another host than the service's. No credential may come there.
func (w *world) elsewhere(r *http.Request) *http.Response {
	if r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" || strings.HasSuffix(r.URL.Path, tokenPath) {
		w.report("a credential is sent to %s", r.URL.Host)
	}
	w.journal.note("%s %s: a call to another host", r.Method, r.URL.Host)
	return answer(r, 404, "text/html", "<html>Nothing here</html>")
}

// confuseLimits changes the headers that tell the limits, one or all of them.
func (c wire) confuseLimits(k call, resp *http.Response) {
	limit, _ := strconv.Atoi(resp.Header.Get("RateLimit-Limit")) // 0 without one
	far := time.Now().Add(time.Minute)
	odd := map[string][]string{
		"RateLimit-Limit":     {"", "0", "-60", "many", "60, 60;w=60", "99999999999999999999", "60.0"},
		"RateLimit-Remaining": {"", fmt.Sprint(limit + 7), "-3", "all", "1e3", "99999999999999999999"},
		"RateLimit-Reset": {"", "-1", "60000", fmt.Sprint(far.Unix()), fmt.Sprint(far.UnixMilli()), far.UTC().Format(http.TimeFormat),
			far.UTC().Format(time.RFC3339), "Inf", "0"},
	}
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		value := odd[name][k.strange.IntN(len(odd[name]))]
		if k.strange.IntN(2) == 0 {
			continue
		}
		resp.Header.Del(name)
		if value != "" {
			resp.Header.Set(name, value)
		}
	}
}

// mistype gives a member of a meeting a value of another type. A text for a text would be a
// value that the service has shown: where its account is not read any more, it stays.
func (k call) mistype(m object) {
	names := slices.Sorted(maps.Keys(m))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "recording_id" })
	name := names[k.strange.IntN(len(names))]
	value := []string{"7", `"text"`, "true", "{}", "[[]]", `[null]`, "-1.5e300", `{"a":{"b":[]}}`}[k.strange.IntN(8)]
	if value[0] == '"' && bytes.HasPrefix(m[name], []byte{'"'}) {
		value = "7"
	}
	m[name] = json.RawMessage(value)
}

// respell writes a JSON value in another order and another way, for seeds that do.
func (k call) respell(w *world, raw []byte) []byte {
	if !w.traits.respells {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	var b bytes.Buffer
	writeOddly(&b, v, newRand(w.seed, fmt.Sprintf("%s %d", k.path, time.Now().UnixNano())))
	return b.Bytes()
}

func writeOddly(b *bytes.Buffer, v any, g *rand.Rand) {
	space := func() { b.WriteString([]string{"", "", " ", "\n", "\t "}[g.IntN(5)]) }
	space()
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			writeOddly(b, name, g)
			b.WriteByte(':')
			writeOddly(b, v[name], g)
		}
		space()
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeOddly(b, v[i], g)
		}
		b.WriteByte(']')
	case string:
		writeEscaped(b, v, g)
	default:
		b.Write(encode(v))
	}
	space()
}

// writeEscaped writes a string with some letters escaped; not those of tokens, which the oracle
// looks for.
func writeEscaped(b *bytes.Buffer, s string, g *rand.Rand) {
	quoted := string(encode(s))
	if at := strings.IndexAny(s, "aeio"); at >= 0 && g.IntN(4) == 0 && !strings.Contains(quoted, `\`) {
		quoted = strings.Replace(quoted, s[at:at+1], fmt.Sprintf(`\u%04x`, s[at]), 1)
	}
	b.WriteString(quoted)
}
