package years

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
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
	respells     bool          // members in any order, spaces, escaped letters
	oldAddresses bool          // content has the address that its meeting's recorder then had
	pageOffsets  bool          // a cursor is the number of meetings before the page
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
	t.respells = seed >= firstWide && r.IntN(3) == 0
	t.pageOffsets = seed >= firstStrict && r.IntN(2) == 0
	t.oldAddresses = seed >= firstHarsh && r.IntN(2) == 0
	return t
}

// faults that a storm can have, with their greatest rates.
var faults = map[string]float64{
	"reset before": 0.1, "reset after": 0.1, "5xx": 0.15, "html": 0.03, "cut": 0.1, "429": 0.03, "empty list": 0.05,
	"drop item": 0.03, "double item": 0.1, "bad item": 0.03, "blank content": 0.2, "cursor refused": 0.05, "no headers": 0.3,
	"odd size": 0.05, "empty directory": 0.2, "shuffle": 0.3, "not found": 0.03, "slow": 0.05,
}

// strangeFaults are those of the seeds from firstWide on.
var strangeFaults = map[string]float64{
	"redirect": 0.05, "wrong type": 0.05, "odd limits": 0.3, "odd 429": 0.03, "header cut": 0.08, "ends early": 0.08, "odd life": 0.3, "odd page": 0.2,
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
	if r.URL.Host != "service.test" {
		return w.elsewhere(r), nil
	}
	credential := r.Header.Get("X-Api-Key")
	who := w.keyOwner(credential)
	form, began := w.app.readForm(r), time.Now()
	if owner, connection := w.app.callerOf(r, form); owner != "" {
		who, credential = owner, connection
	}
	path := strings.TrimPrefix(r.URL.Path, "/external/v1")
	name := who + " " + r.Method + " " + callName(path) + " " + queryName(r)
	g := w.dice.roll(name)
	if err := pauseFor(r, time.Duration(g.Int64N(int64(w.traits.slowness)))+time.Duration(g.IntN(1e6))); err != nil {
		return nil, err
	}
	if c.h.dead.Load() {
		return nil, syscall.ECONNRESET
	}
	w.passTrigger(path, who, r.URL.Query().Get("cursor"))
	rates, strange := w.present(), newRand(w.seed, "strange")
	if len(rates) > 0 && w.seed >= firstWide {
		strange = w.dice.roll("strange " + name)
	}
	hit := func(fault string) bool {
		draws := g
		if strangeFaults[fault] > 0 {
			draws = strange
		}
		chance := draws.Float64() // drawn in any case, so that the later draws stay the same
		if chance >= rates[fault] || w.disabled["fault:"+fault] {
			return false
		}
		w.journal.note("%s: %s", name, fault)
		return true
	}
	if resp, err := c.breakEarly(r, strange, hit); resp != nil || err != nil {
		if resp != nil {
			w.learnLimits(c.h, r, resp, true)
		}
		return resp, err
	}
	sent := time.Now()
	w.judgeLimits(c.h, r, began, sent)
	resp, err := w.upstream.carrier.RoundTrip(w.org.kept(r))
	if err != nil {
		return nil, err
	}
	if failed := w.failsList(r, path, resp); failed != nil {
		resp = failed
	}
	w.app.learn(path, form, resp)
	if form != nil && c.h.losesTokens.Swap(false) {
		w.journal.note("%s: the program is killed before the answer comes", name)
		c.h.dead.Store(true)
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
	if hit("header cut") {
		return nil, brokenHeaders[strange.IntN(len(brokenHeaders))]
	}
	w.answered(who, r, path, sent, resp.StatusCode)
	if strings.HasPrefix(path, "/media/") {
		w.mark(resp, path)
	}
	return c.spoil(call{who: who, credential: credential, path: path, r: r, g: g, strange: strange, hit: hit, sent: sent}, resp)
}

// call is a call that was answered.
type call struct {
	who, path  string
	credential string
	r          *http.Request
	g, strange *rand.Rand
	hit        func(string) bool
	sent       time.Time
}

// breakEarly answers for the service, or breaks the connection.
func (c wire) breakEarly(r *http.Request, strange *rand.Rand, hit func(string) bool) (*http.Response, error) {
	if hit("slow") {
		if err := pauseFor(r, 40*time.Second); err != nil {
			return nil, err
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/external/v1")
	switch {
	case hit("redirect"):
		return redirect(r, strange), nil
	case hit("odd 429"):
		resp := answer(r, 429, "text/html", "")
		resp.Header.Set("Retry-After", oddWaits[strange.IntN(len(oddWaits))])
		return resp, nil
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
	case (strings.HasSuffix(path, "/transcript") || strings.HasSuffix(path, "/summary")) && c.w.isStuck("content", c.w.org.meeting(recordingOf(path)), 0):
		return answer(r, 500, "text/html", "<html><h1>Server error</h1></html>"), nil
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
	if k.hit("odd limits") {
		c.confuseLimits(k, resp)
	}
	isWhole := false
	defer func() { c.w.learnLimits(c.h, k.r, resp, isWhole) }()
	if isJSON := json.Valid(body); isJSON && len(body) > 0 && k.hit("ends early") { // as a connection without a length does
		resp.Body = io.NopCloser(bytes.NewReader(body[:k.strange.IntN(len(bytes.TrimSpace(body)))]))
		resp.ContentLength = -1
		return resp, nil
	}
	if len(body) > 0 && k.hit("cut") {
		n := k.g.IntN(len(body))
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:n]), cutReader{}))
		return resp, nil
	}
	shown()
	isWhole = true
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// cutReader is where a body breaks off.
type cutReader struct{}

func (cutReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

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

// faultNames are the faults of a seed's storms, the older ones first.
func (w *world) faultNames() []string {
	names := slices.Sorted(maps.Keys(faults))
	if w.seed >= firstWide {
		names = append(names, slices.Sorted(maps.Keys(strangeFaults))...)
	}
	if w.hasBucket() {
		names = append(names, slices.Sorted(maps.Keys(bucketFaults))...)
	}
	return names
}
