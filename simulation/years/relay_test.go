package years

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/internal/loopback"
	"minutebook/service"
)

// hook is a webhook that a person made at the archive's own service. Its endpoint fails now
// and then.
type hook struct {
	id     string
	secret string
	owner  string // address that the person keeps
	made   time.Time
	// address is the owner's when it was made.
	address string
	begin   time.Time // when it was made, by the service's clock and the program's; the earlier one
	// since is the time from which on nothing disturbed it: own meetings that begin later
	// have to be sent.
	since time.Time
	ended bool // the archive relayed nothing for some time, or does not know it any more
	// restored: the archive may not know which webhooks it sent before.
	restored bool

	scopes   []string
	includes []string // members of a meeting, of contentKeys

	ids      map[int64]string // webhook-ids by recording
	sent     map[int64]bool   // recordings that the endpoint has taken
	attempts map[int64]int
	owed     map[int64]owed // recordings about which the program has decided
}

// relayRest is how long after a disturbance every list has been read again.
const relayRest = 4 * 24 * time.Hour

// newService opens the service's interface of the archive, with its webhooks.
func (h *house) newService(ctx context.Context) (*service.Service, error) {
	return service.New(ctx, service.Options{Archive: h.archive, PublicURL: "http://archive.test", AllowPrivate: true, Now: h.w.now, Uptime: h.w.uptime,
		Rand: newReader(h.w.seed + uint64(h.number)), Logger: h.w.logger, Transport: endpoint{h}})
}

// relay has the archive relay webhooks for some months.
func (w *world) relay(g *rand.Rand) {
	if w.config.relays || w.house == nil || w.house.dead.Load() || w.house.isSick() {
		return
	}
	w.journal.note("the archive relays webhooks")
	w.setRelays(true)
	w.later(time.Duration(50+g.IntN(100))*24*time.Hour, "no relay", func() {
		w.journal.note("the archive relays no webhooks any more")
		w.setRelays(false)
		for _, h := range w.hooks {
			h.ended = true
		}
		if w.seed >= firstHarsh {
			w.later(time.Duration(1+g.IntN(10))*24*time.Hour, "relay again", func() { w.relay(g) })
		}
	})
	for _, a := range w.config.accounts {
		w.makeHook(a.email)
		if w.seed >= firstStrict { // with other scopes
			w.makeHook(a.email)
		}
	}
}

// setRelays starts the program again with another configuration.
func (w *world) setRelays(on bool) {
	w.config.relays = on
	if w.house != nil && !w.house.dead.Load() {
		w.oracle.settle(time.Now(), true)
		w.house.close()
		w.start(w.dataDir)
	}
}

// makeHook makes a webhook of a person whom the archive knows.
func (w *world) makeHook(owner string) {
	ctx, h := context.Background(), w.house
	address := w.org.person(owner).at()
	key, err := h.service.CreateKey(ctx, address)
	if err != nil {
		w.journal.note("no webhook of %s: %v", owner, err)
		return
	}
	w.mu.Lock()
	w.owners[key] = owner
	w.mu.Unlock()
	scopes, includes := w.drawScopes(len(w.hooks))
	asked := map[string]any{"destination_url": fmt.Sprintf("https://hooks.test/%d", len(w.hooks)), "triggered_for": scopes}
	for _, part := range includes {
		asked["include_"+strings.TrimPrefix(part, "default_")] = true
	}
	req, err := http.NewRequest(http.MethodPost, "http://archive.test/external/v1/webhooks", bytes.NewReader(encode(asked)))
	w.must(err, "make a request")
	req.Header.Set("X-Api-Key", key)
	begin := time.Now() // the commit may take a second
	if now := w.now(); now.Before(begin) {
		begin = now
	}
	resp, err := (&http.Client{Transport: &loopback.Transport{Handler: h.service.Handler()}}).Do(req)
	w.must(err, "make a webhook")
	answer, err := io.ReadAll(resp.Body)
	w.must(errors.Join(err, resp.Body.Close()), "make a webhook")
	var made struct{ ID, Secret string }
	if err := json.Unmarshal(answer, &made); err != nil || resp.StatusCode != 201 || made.Secret == "" {
		w.journal.note("no webhook of %s: %d", owner, resp.StatusCode) // not active, or not known
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks = append(w.hooks, &hook{id: made.ID, secret: made.Secret, owner: owner, address: address, made: time.Now(), begin: begin, since: time.Now().Add(relayRest),
		scopes: scopes, includes: includes, ids: map[int64]string{}, sent: map[int64]bool{}, attempts: map[int64]int{}, owed: map[int64]owed{}})
}

// disturbRelay notes that something happened after which a webhook may rightly not fire.
func (w *world) disturbRelay() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.hooks {
		h.since = time.Now().Add(relayRest)
	}
}

// restoreHooks notes that an archive of a time was restored. Webhooks that were made later are
// not in it.
func (w *world) restoreHooks(at time.Time) {
	for _, h := range w.hooks {
		h.ended, h.owed, h.restored = h.ended || !h.made.Before(at), map[int64]owed{}, true
	}
	w.agePast()
}

// agePast notes a clock that is behind: meetings that were recorded since the time it tells are
// no history to a webhook, and a restored archive sends them again.
func (w *world) agePast() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.hooks {
		if now := w.now().Round(0); now.Before(h.begin) {
			h.begin = now
		}
		if h.restored && w.skew.Load() < 0 {
			h.ids = map[int64]string{}
		}
	}
}

// noteViewers notes who can see which meetings now.
func (w *world) noteViewers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.org.noteCRMs()
	for _, m := range w.org.meetings {
		if m.viewers == nil {
			m.viewers = map[string]bool{}
		}
		for _, p := range w.org.people {
			if w.org.sees(p, m) {
				m.viewers[p.email] = true
				m.noteScopes(p)
			}
		}
	}
}

// endpoint receives the webhooks of a start of the program.
type endpoint struct{ h *house }

// RoundTrip answers a delivery.
func (e endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil || e.h.dead.Load() {
		return nil, errors.New("the machine is off")
	}
	n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		return nil, err
	}
	trouble := e.h.w.receiveHook(e.h, n, r.Header, body)
	switch trouble {
	case 1:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case 2:
		return nil, errors.New("the connection broke before the answer")
	}
	status := []int{0: http.StatusNoContent, 3: http.StatusInternalServerError, 4: http.StatusFound}[trouble]
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// rightsOf reports whether a person sees a meeting here now, and is active. Whether a webhook fires
// is decided once, by the visibility of that moment (specification 6.1), and its first attempt
// follows at once.
func (h *house) rightsOf(email string, id int64) (sees, isActive bool) {
	ctx := context.Background()
	visible, _, err := h.archive.MayPlay(ctx, archive.ViewerWith(email), id)
	user, err2 := h.archive.User(ctx, email)
	isUnknown := errors.Is(err2, archive.ErrNotFound)
	if err != nil || err2 != nil && !isUnknown { // it is being closed
		return true, true
	}
	return visible, isUnknown || user.Status == "active"
}

// receiveHook checks a delivery of a webhook, and returns the trouble that its endpoint has:
// 0 for none.
func (w *world) receiveHook(sender *house, n int, header http.Header, body []byte) (trouble int) {
	var about struct {
		ID      int64 `json:"recording_id"`
		Summary struct {
			Text string `json:"markdown_formatted"`
		} `json:"default_summary"`
		Matches json.RawMessage `json:"crm_matches"`
	}
	var members object
	unreadable := errors.Join(json.Unmarshal(body, &about), json.Unmarshal(body, &members))
	w.mu.Lock()
	h := w.hooks[n]
	w.mu.Unlock()
	sees, isActive := sender.rightsOf(h.address, about.ID) // the archive may log, and the log is read with the lock
	w.mu.Lock()
	now, forgot := w.now(), false
	problem := func() string {
		if unreadable != nil {
			return fmt.Sprintf("is not a meeting: %v", unreadable)
		}
		m := w.org.meeting(about.ID)
		if m == nil {
			return "is about no meeting of the service"
		}
		message := header.Get("webhook-id")
		at, err := strconv.ParseInt(header.Get("webhook-timestamp"), 10, 64)
		if err != nil || now.Sub(time.Unix(at, 0)).Abs() > time.Minute {
			return fmt.Sprintf("is of %s, and it is %s", stamp(time.Unix(at, 0)), stamp(now))
		}
		if valid := strings.Fields(sign(h.secret, message, at, body))[1]; !slices.Contains(strings.Fields(header.Get("webhook-signature")), valid) {
			return "is not signed"
		}
		switch before := h.ids[m.id]; {
		case before != "" && before != message:
			return fmt.Sprintf("has the webhook-id %s, and had %s before", message, before)
		case slices.ContainsFunc(w.hooks, func(other *hook) bool {
			for id, used := range other.ids {
				if used == message && (other != h || id != m.id) {
					return true
				}
			}
			return false
		}):
			return "has the webhook-id of another one"
		case !m.created.After(h.begin):
			return "is history"
		case !w.traits.lacksDate && !m.isMistyped && w.reads.isHistory(m):
			return "is history of all lists that show it"
		case w.org.person(h.owner).isActive() && !m.viewers[h.owner] && m.created.Sub(w.userChanged) > 5*24*time.Hour:
			return "is about a meeting that its owner never could see"
		case w.org.person(h.owner).isActive() && !m.isMistyped && !h.mayFire(m) && m.created.Sub(w.userChanged) > 5*24*time.Hour:
			return fmt.Sprintf("is for %v, and the meeting never was one of them", h.scopes)
		case h.unasked(members) != "":
			return "has a part that was not asked for: " + h.unasked(members)
		case !isActive:
			return "goes to somebody whom the archive does not call active"
		case h.attempts[m.id] == 0 && !sees:
			return "is about a meeting that the archive does not show to its owner"
		case slices.Contains(h.includes, "default_summary") && !strings.Contains(about.Summary.Text, token(m.id)+" summary version"):
			return "has no summary"
		case crmIn(about.Matches) != "" && !w.org.person(h.owner).crms[crmIn(about.Matches)] && time.Since(w.userChanged) > 5*24*time.Hour:
			return "has the matches in the CRM of " + crmIn(about.Matches)
		}
		h.ids[m.id] = message
		h.attempts[m.id]++
		forgot = !w.forgotAt[m.id].IsZero() && time.Since(w.forgotAt[m.id]) > time.Minute
		// The last attempts succeed, since every delivery has to arrive in the end.
		if g := newRand(w.seed, fmt.Sprintf("endpoint %d %d %d", n, m.id, h.attempts[m.id])); h.attempts[m.id] < 5 && g.IntN(3) == 0 {
			trouble = 1 + g.IntN(4)
		}
		if trouble == 0 {
			h.sent[m.id] = true
		}
		return ""
	}()
	w.mu.Unlock()
	if problem == "" && forgot {
		problem = "comes after its meeting was forgotten"
	}
	if problem != "" {
		w.report("a webhook of %s about %d %s", h.owner, about.ID, problem)
	}
	return trouble
}

// countWebhooks returns how many deliveries the endpoints have taken.
func (w *world) countWebhooks() (n int) {
	for _, h := range w.hooks {
		n += len(h.sent)
	}
	return n
}
