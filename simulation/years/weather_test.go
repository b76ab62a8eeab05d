package years

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// traits are the lasting habits of a seed's service and network.
type traits struct {
	sliding      bool              // windows of the limits
	style        map[string]string // by account: how content that is not asked for or not there looks: null, absent, empty
	lightMatches bool              // light lists name the matched speakers
	lacksTeam    map[string]bool   // by account: recorded_by.team is null
	lacksShare   bool              // share_url is missing
	lacksHeaders bool              // no RateLimit-* headers
	lastCursor   string            // how the last page says so: null, absent, empty
	unknownKeys  bool
	offsets      bool          // times with an offset
	slowness     time.Duration // the longest way there and back
	lacksDate    bool          // no Date header: a proxy takes it away
}

func drawTraits(seed uint64, people []*person) traits {
	r := newRand(seed, "traits")
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	t := traits{sliding: r.IntN(2) == 0, style: map[string]string{}, lacksTeam: map[string]bool{}, lightMatches: r.IntN(2) == 0,
		lacksShare: r.IntN(3) == 0, lacksHeaders: r.IntN(3) == 0, lastCursor: pick("null", "absent", "empty"),
		unknownKeys: r.IntN(2) == 0, offsets: r.IntN(3) == 0, slowness: time.Duration(50+r.IntN(3000)) * time.Millisecond}
	for _, p := range people {
		t.style[p.email] = pick("null", "absent", "empty")
		t.lacksTeam[p.email] = r.IntN(3) == 0
	}
	t.lacksDate = r.IntN(3) == 0
	return t
}

// faults that a storm can have, with their greatest rates.
var faults = map[string]float64{
	"reset before": 0.1, "reset after": 0.1, "5xx": 0.15, "html": 0.03, "cut": 0.1, "429": 0.03, "empty list": 0.05,
	"drop item": 0.03, "double item": 0.1, "bad item": 0.03, "blank content": 0.2, "cursor refused": 0.05, "no headers": 0.3,
	"odd size": 0.05, "empty directory": 0.2, "shuffle": 0.3, "not found": 0.03, "slow": 0.05,
}

// storm is a time of faults.
type storm struct {
	rates map[string]float64
	end   time.Time
}

// wire carries the calls of one start of the program to the service.
type wire struct {
	w *world
	h *house
}

// RoundTrip carries a call through the weather.
func (c wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w := c.w
	who := w.keyOwner(r.Header.Get("X-Api-Key"))
	path := strings.TrimPrefix(r.URL.Path, "/external/v1")
	name := who + " " + r.Method + " " + callName(path) + " " + queryName(r)
	g := w.dice.roll(name)
	if err := pauseFor(r, time.Duration(g.Int64N(int64(w.traits.slowness)))+time.Duration(g.IntN(1e6))); err != nil {
		return nil, err
	}
	if c.h.dead.Load() {
		return nil, syscall.ECONNRESET
	}
	w.passTrigger(path, r.URL.Query().Get("cursor") != "")
	rates := w.present()
	hit := func(fault string) bool {
		chance := g.Float64() // drawn in any case, so that the later draws stay the same
		if chance >= rates[fault] || w.disabled["fault:"+fault] {
			return false
		}
		w.journal.note("%s: %s", name, fault)
		return true
	}
	if resp, err := c.breakEarly(r, hit); resp != nil || err != nil {
		return resp, err
	}
	sent := time.Now()
	resp, err := w.upstream.carrier.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if !w.traits.lacksDate {
		resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	if err := pauseFor(r, time.Duration(g.Int64N(int64(w.traits.slowness)))); err != nil {
		return nil, err
	}
	if c.h.dead.Load() || hit("reset after") {
		return nil, syscall.ECONNRESET
	}
	w.answered(who, path, resp.StatusCode)
	return c.spoil(call{who: who, path: path, r: r, g: g, hit: hit, sent: sent}, resp)
}

// call is a call that was answered.
type call struct {
	who, path string
	r         *http.Request
	g         *rand.Rand
	hit       func(string) bool
	sent      time.Time
}

// breakEarly answers for the service, or breaks the connection.
func (c wire) breakEarly(r *http.Request, hit func(string) bool) (*http.Response, error) {
	if hit("slow") {
		if err := pauseFor(r, 40*time.Second); err != nil {
			return nil, err
		}
	}
	switch {
	case hit("reset before"):
		return nil, syscall.ECONNRESET
	case hit("5xx"):
		return answer(r, 502+len(r.URL.RawQuery)%2, "text/html", "<html><h1>Bad gateway</h1></html>"), nil
	case hit("html"):
		return answer(r, 200, "text/html", "<html>Please wait</html>"), nil
	case hit("429"):
		return answer(r, 429, "text/html", ""), nil
	case r.URL.Query().Get("cursor") != "" && hit("cursor refused"):
		return answer(r, 400, "application/json", `{"error":"invalid cursor"}`), nil
	case strings.HasSuffix(r.URL.Path, "/transcript") && hit("not found"):
		return answer(r, 404, "application/json", `{"error":"not found"}`), nil
	}
	return nil, nil
}

func answer(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}
}

// spoil changes an answer within the habits of the service and the network.
func (c wire) spoil(k call, resp *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), cutReader{}))
		return resp, nil
	}
	if c.w.traits.lacksHeaders || k.hit("no headers") {
		for _, h := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
			resp.Header.Del(h)
		}
	}
	shown := func() {}
	if resp.StatusCode/100 == 2 && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		body, shown = c.rewrite(k, body)
		resp.Header.Del("Content-Length")
		resp.ContentLength = int64(len(body))
	}
	if len(body) > 0 && k.hit("cut") {
		n := k.g.IntN(len(body))
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:n]), cutReader{}))
		return resp, nil
	}
	shown()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// cutReader is where a body breaks off.
type cutReader struct{}

func (cutReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type object = map[string]json.RawMessage

// rewrite changes a JSON answer. shown tells the oracle of it.
func (c wire) rewrite(k call, body []byte) (out []byte, shown func()) {
	w := c.w
	var o object
	if json.Unmarshal(body, &o) != nil {
		return body, func() {}
	}
	var seen []object
	switch {
	case k.path == "/meetings":
		seen = c.rewriteList(k, o)
	case o["items"] != nil:
		if k.hit("empty directory") {
			delete(o, "items")
		}
		c.rewriteCursor(o)
	case strings.HasSuffix(k.path, "/transcript"), strings.HasSuffix(k.path, "/summary"):
		seen = c.rewriteContent(k, o)
	case strings.Contains(k.path, "/download") && k.hit("odd size"):
		for _, kind := range []string{"video", "audio"} {
			var file object
			if json.Unmarshal(o[kind], &file) == nil && file != nil {
				file["file_size_bytes"] = json.RawMessage([]string{"-4", "null", `"many"`, "1"}[k.g.IntN(4)])
				o[kind] = encode(file)
			}
		}
	}
	return encode(o), func() {
		for _, m := range seen {
			w.oracle.show(k.who, c.h.number, k.sent, m)
		}
	}
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func (c wire) rewriteCursor(o object) {
	if string(o["next_cursor"]) != "null" {
		return
	}
	switch c.w.traits.lastCursor {
	case "absent":
		delete(o, "next_cursor")
	case "empty":
		o["next_cursor"] = json.RawMessage(`""`)
	}
}

// contentKeys are the members of a meeting with content of their own.
var contentKeys = []string{"transcript", "default_summary", "action_items", "highlights", "crm_matches"}

// rewriteList changes a page of meetings and returns those that can be read in it.
func (c wire) rewriteList(k call, o object) []object {
	w := c.w
	var items []object
	if json.Unmarshal(o["items"], &items) != nil {
		return nil
	}
	c.rewriteCursor(o)
	if k.hit("empty list") {
		o["items"] = json.RawMessage("[]")
		delete(o, "next_cursor")
		w.oracle.emptied(k.who)
		return nil
	}
	var out, readable []object
	for _, m := range items {
		c.dress(k, m)
		id, _ := strconv.ParseInt(string(m["recording_id"]), 10, 64)
		switch {
		case k.hit("drop item"):
			w.oracle.dropped(id)
			continue
		case k.hit("bad item"):
			w.oracle.dropped(id)
			m["recording_id"] = json.RawMessage([]string{"null", `"x"`, "-7", "1.5"}[k.g.IntN(4)])
		default:
			readable = append(readable, m)
		}
		out = append(out, m)
		if k.hit("double item") {
			out = append(out, m)
		}
	}
	if k.hit("shuffle") {
		k.g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if out == nil {
		out = []object{}
	}
	o["items"] = encode(out)
	if w.traits.unknownKeys {
		o["total_hint"] = json.RawMessage("null")
	}
	return readable
}

// absent is how content looks that is not there.
func (t *traits) absent(who string, m object, key string) {
	switch t.style[who] {
	case "absent":
		delete(m, key)
	case "empty":
		m[key] = json.RawMessage("[]")
		if key == "default_summary" {
			m[key] = json.RawMessage(`{"template_name":null,"markdown_formatted":null}`)
		}
	default:
		m[key] = json.RawMessage("null")
	}
}

var wholeMinute = regexp.MustCompile(`:00Z"$`)

// dress gives a listed meeting the seed's traits, and takes content away that is not
// there yet.
func (c wire) dress(k call, m object) {
	w, t := c.w, &c.w.traits
	q := k.r.URL.Query()
	asked := map[string]bool{"transcript": q.Get("include_transcript") == "true", "default_summary": q.Get("include_summary") == "true",
		"action_items": q.Get("include_action_items") == "true", "highlights": q.Get("include_highlights") == "true"}
	id, _ := strconv.ParseInt(string(m["recording_id"]), 10, 64)
	for _, key := range contentKeys {
		if !asked[key] || !w.isReady(id, key) || k.hit("blank content") {
			t.absent(k.who, m, key)
		}
	}
	if t.lacksShare {
		delete(m, "share_url")
	}
	if t.unknownKeys {
		m["x_extra"] = json.RawMessage(`{"a":[1,2]}`)
	}
	if t.offsets && wholeMinute.Match(m["created_at"]) {
		m["created_at"] = wholeMinute.ReplaceAll(m["created_at"], []byte(`:00+00:00"`))
	}
	if t.lacksTeam[k.who] {
		var by object
		if json.Unmarshal(m["recorded_by"], &by) == nil && by != nil {
			by["team"] = json.RawMessage("null")
			m["recorded_by"] = encode(by)
		}
	}
	if !t.lightMatches && !asked["transcript"] {
		var invitees []object
		if json.Unmarshal(m["calendar_invitees"], &invitees) == nil {
			for _, i := range invitees {
				i["matched_speaker_display_name"] = json.RawMessage("null")
			}
			m["calendar_invitees"] = encode(invitees)
		}
	}
}

// rewriteContent changes the answer of a content endpoint.
func (c wire) rewriteContent(k call, o object) []object {
	id := recordingOf(k.path)
	key := "transcript"
	if strings.HasSuffix(k.path, "/summary") {
		key = "default_summary"
	}
	member := path2member[key]
	if !c.w.isReady(id, key) || k.hit("blank content") {
		c.w.traits.absent(k.who, o, member)
		if key == "default_summary" && string(o[member]) == "[]" {
			o[member] = json.RawMessage("null")
		}
		return nil
	}
	return []object{{"recording_id": json.RawMessage(strconv.FormatInt(id, 10)), key: o[member]}}
}

var path2member = map[string]string{"transcript": "transcript", "default_summary": "summary"}

func recordingOf(path string) int64 {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "recordings" {
		return 0
	}
	id, _ := strconv.ParseInt(parts[2], 10, 64)
	return id
}

// callName is a path without the parts that differ from run to run.
func callName(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		if i > 2 || parts[1] == "media" && i > 1 {
			if len(parts[i]) > 12 {
				parts[i] = "*"
			}
		}
	}
	return strings.Join(parts, "/")
}

// queryName is a query without cursors.
func queryName(r *http.Request) string {
	q := r.URL.Query()
	var words []string
	for _, key := range slices.Sorted(maps.Keys(q)) {
		if strings.HasPrefix(key, "include_") || strings.HasSuffix(key, "[]") {
			words = append(words, fmt.Sprint(strings.TrimPrefix(key, "include_"), q[key]))
		}
	}
	if q.Get("cursor") != "" {
		words = append(words, "next")
	}
	return strings.Join(words, " ")
}

func pauseFor(r *http.Request, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func faultNames() []string { return slices.Sorted(maps.Keys(faults)) }
