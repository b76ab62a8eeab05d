package years

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"minutebook/service"
)

// toldLimits are the limits below the nominal ones that answers of the service told a start of the
// program, by key and class, and the waits. Calls that are sent afterwards keep to them; to a wait
// that was kept also those of later starts.
type toldLimits struct {
	mu      sync.Mutex // guards the fields below
	told    map[string]*toldLimit
	waits   map[string]wait // by key
	lowered map[string]int  // the limits of this moment, by class
}

// wait is that a key may not be used between two times.
type wait struct {
	since, until time.Time
	start        int  // of the program that was told
	isKept       bool // it is in the archive
}

// toldLimit is a lowered limit of a class.
type toldLimit struct {
	limit       int
	since, last time.Time // the first and the last answer with it
	calls       []time.Time
}

// toldFor is how long after the last answer with it a lowered limit has to be kept: the service
// does not say for how long it is lowered, and who never tried again would stay below for good.
const toldFor = 20 * time.Minute

func newToldLimits() *toldLimits {
	return &toldLimits{told: map[string]*toldLimit{}, waits: map[string]wait{}, lowered: nominal}
}

// setLimits changes the limits of the service. Those that were told before count no more.
func (w *world) setLimits(l service.Limits) {
	w.must(w.upstream.service.SetLimits(context.Background(), l), "set the limits")
	heavy := cmp.Or(l.Heavy, nominal["heavy"])
	if l.Elevated {
		heavy = 5
	}
	w.told.mu.Lock()
	defer w.told.mu.Unlock()
	w.told.told = map[string]*toldLimit{}
	w.told.lowered = map[string]int{"global": cmp.Or(l.Global, nominal["global"]), "heavy": heavy, "download": cmp.Or(l.DownloadLimit, nominal["download"])}
}

// keep notes that a start of the program kept its budget of a key, or that it could not. What one
// that dies could not keep is still there from before, unless it was told that a moment ago.
func (l *toldLimits) keep(h *house, key string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.waits[key]
	if ok && w.start == h.number && (err == nil || !h.dead.Load() || time.Since(w.since) < time.Second) {
		w.isKept = err == nil
		l.waits[key] = w
	}
}

// goBack notes that an archive was restored, which knows of no wait.
func (l *toldLimits) goBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.waits)
}

// arrive judges a call of a start of the program that began at one time and reached the service
// at another.
func (l *toldLimits) arrive(h *house, key string, charged []string, began, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := fmt.Sprint(h.number)
	if wait := l.waits[key]; (wait.start == h.number || wait.isKept) && began.After(wait.since) && began.Before(wait.until) {
		return fmt.Errorf("it was told at %s to wait until %s, and calls at %s", clock(wait.since), clock(wait.until), clock(began))
	}
	for _, class := range charged {
		t := l.told[name+" "+key+" "+class]
		if t == nil || !began.After(t.since) || at.Sub(t.last) > toldFor {
			continue
		}
		for len(t.calls) > 0 && at.Sub(t.calls[0]) >= time.Minute {
			t.calls = t.calls[1:]
		}
		if t.calls = append(t.calls, at); len(t.calls) > t.limit {
			return fmt.Errorf("it was told a limit of %d %s calls at %s, and makes %d within %s", t.limit, class, clock(t.since), len(t.calls), at.Sub(t.calls[0]))
		}
	}
	return nil
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// learn notes an answer that the program is given. One that is cut off tells nothing for sure.
func (l *toldLimits) learn(h *house, key string, charged []string, resp *http.Response, isWhole bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, now := fmt.Sprint(h.number), time.Now()
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && isWhole && resp.StatusCode == http.StatusTooManyRequests {
		l.waits[key] = wait{since: now, until: now.Add(time.Duration(seconds) * time.Second), start: h.number}
	}
	limit := resp.Header.Get("RateLimit-Limit")
	if limit == "" {
		return
	}
	class := charged[len(charged)-1] // the narrower one
	switch t := l.told[name+" "+key+" "+class]; {
	case limit != strconv.Itoa(l.lowered[class]):
		for _, c := range charged {
			delete(l.told, name+" "+key+" "+c) // perhaps that of the other class
		}
	case !isWhole:
	case t == nil:
		l.told[name+" "+key+" "+class] = &toldLimit{limit: l.lowered[class], since: now, last: now}
	default:
		t.last = now
	}
}

// judgeLimits judges a call of the program by the limits that it was told.
func (w *world) judgeLimits(h *house, r *http.Request, began, at time.Time) {
	key, charged := w.chargesOf(r)
	if key == "" {
		return
	}
	if err := w.told.arrive(h, key, charged, began, at); err != nil {
		w.report("%s to %s: %v", r.Method, callName(r.URL.Path), err)
	}
}

// learnLimits notes the limits that an answer tells.
func (w *world) learnLimits(h *house, r *http.Request, resp *http.Response, isWhole bool) {
	if key, charged := w.chargesOf(r); key != "" {
		w.told.learn(h, key, charged, resp, isWhole)
	}
}

// chargesOf returns whose limits a call counts against, and which of them; "": nobody's that are
// ever lowered.
func (w *world) chargesOf(r *http.Request) (key string, charged []string) {
	path, q := strings.TrimPrefix(r.URL.Path, "/external/v1"), r.URL.Query()
	if path == tokenPath || strings.HasPrefix(path, "/media/") {
		return "", nil
	}
	return w.app.nameOf(r), classes(r.Method, path, q.Get("include_transcript") == "true" || q.Get("include_summary") == "true")
}
