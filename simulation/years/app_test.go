package years

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	tokenPath   = "/oauth2/token"
	redirectURL = "https://archive.test/oauth"
)

// connection is a person's consent to the app.
type connection struct {
	name, owner string
	code        string
	refresh     string // the token that the service accepts next
	revoked     bool
}

// app is the archive's OAuth app at the service, with a record of the tokens that the service
// gave out, and of those that the archive has kept.
type app struct {
	id, secret string

	mu      sync.Mutex             // guards the fields below
	codes   map[string]*connection // by code
	access  map[string]*connection // by access token
	refresh map[string]*connection // by refresh token, also those that were rotated away
	kept    map[string]string      // the refresh token in the archive, by account; "": lost
	tokens  []string               // all that were given out
	stored  map[string]bool        // refresh tokens that the archive ever had
	came    []arrival              // since the last look
}

// newApp makes the app at the service.
func newApp(w *world) (*app, error) {
	made, secret, err := w.upstream.service.CreateApp(context.Background(), "archive", []string{redirectURL}, false)
	return &app{id: made.ClientID, secret: secret, codes: map[string]*connection{}, access: map[string]*connection{},
		refresh: map[string]*connection{}, kept: map[string]string{}, stored: map[string]bool{}}, err
}

// readForm returns the form of a call to the token endpoint; nil for other calls.
func (a *app) readForm(r *http.Request) url.Values {
	if !strings.HasSuffix(r.URL.Path, tokenPath) || r.Body == nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body)) // nil, when it is none
	return form
}

// callerOf returns the address of the person for whom the app calls, and the connection.
func (a *app) callerOf(r *http.Request, form url.Values) (owner, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if form != nil {
		c = a.refresh[form.Get("refresh_token")]
		if c == nil {
			c = a.codes[form.Get("code")]
		}
	}
	if c == nil {
		return "", ""
	}
	return c.owner, c.name
}

// nameOf names the bucket in which the service counts a call: a key, a connection, the app.
func (a *app) nameOf(r *http.Request) string {
	if strings.HasSuffix(r.URL.Path, tokenPath) {
		return "app"
	}
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	_, name := a.callerOf(r, nil)
	return name
}

// learn notes the tokens of an answer. The refresh token before them is void.
func (a *app) learn(path string, form url.Values, resp *http.Response) {
	if form == nil || resp.StatusCode != http.StatusOK {
		return
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var pair struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err != nil || json.Unmarshal(body, &pair) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.codes[form.Get("code")]
	if c == nil {
		c = a.refresh[form.Get("refresh_token")]
	}
	c.refresh = pair.Refresh
	a.access[pair.Access], a.refresh[pair.Refresh] = c, c
	a.tokens = append(a.tokens, pair.Access, pair.Refresh)
}

// keep notes that the archive has stored tokens of an account.
func (a *app) keep(account, refresh string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept[account], a.stored[refresh] = refresh, true
}

func (a *app) keptTokens() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.kept)
}

func (a *app) keepTokens(kept map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = maps.Clone(kept)
}

// arrival is that an answer with tokens reached a start of the program whole.
type arrival struct {
	refresh string
	house   *house
	at      time.Time
}

// arrive notes such an answer.
func (a *app) arrive(h *house, body object) {
	var refresh string
	if json.Unmarshal(body["refresh_token"], &refresh) == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.came = append(a.came, arrival{refresh, h, time.Now()})
	}
}

// checkArrivals compares the tokens that came with those that were kept, unless the disk was sick.
func (a *app) checkArrivals(w *world) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.came {
		if alive := c.house == w.house && !c.house.dead.Load() && !c.house.wasSick.Load() && time.Since(c.at) > time.Minute; alive && !a.stored[c.refresh] {
			w.report("tokens came at %s and are not kept", stamp(c.at))
		}
	}
	a.came = nil
}

// isConnected reports whether the service will accept the tokens that an account has.
func (a *app) isConnected(account string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.refresh[a.kept[account]]
	return c != nil && !c.revoked && c.refresh == a.kept[account]
}

// connectionOf names the connection of an account, "" without one.
func (a *app) connectionOf(account string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.refresh[a.kept[account]]; c != nil {
		return c.name
	}
	return ""
}

// newestTokens are the tokens that were given out last.
func (a *app) newestTokens() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tokens[max(0, len(a.tokens)-20):])
}
