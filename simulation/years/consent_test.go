package years

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// newConnection makes the client of an account that connects through the app.
func (h *house) newConnection(a account) *api.Client {
	budget := api.NewBudget(api.BudgetOptions{Connection: a.name, Store: h.archive, Now: h.w.now, Uptime: uptime, Rand: half, Logger: h.w.logger})
	carrier := &http.Client{Transport: wire{h.w, h}}
	oauth, err := api.NewOAuth(api.OAuthOptions{Account: a.name, BaseURL: baseURL, ClientID: h.w.app.id, ClientSecret: h.w.app.secret, RedirectURL: redirectURL,
		Store: tokenStore{h}, HTTP: carrier, Budget: budget, Now: h.w.now, Rand: half, Logger: h.w.logger})
	h.w.must(err, "set up OAuth")
	h.apps[a.name] = oauth
	c, err := api.NewClient(api.ClientOptions{BaseURL: baseURL, Credential: oauth, HTTP: carrier, Budget: budget, Now: h.w.now, Rand: half, Logger: h.w.logger})
	h.w.must(err, "make a client")
	return c
}

// tokenStore keeps tokens in the archive, as the daemon does.
type tokenStore struct{ h *house }

// LoadToken reads the tokens of an account.
func (s tokenStore) LoadToken(ctx context.Context, account string) ([]byte, error) {
	return s.h.archive.LoadToken(ctx, account)
}

// SaveToken keeps the tokens of an account.
func (s tokenStore) SaveToken(ctx context.Context, account string, token []byte) error {
	if err := s.h.archive.SaveToken(ctx, account, token); err != nil {
		return err
	}
	pair, err := s.h.tokens(ctx, account)
	if err != nil {
		return err
	}
	if pair.Reconnect != "" {
		pair.Refresh = ""
	}
	s.h.w.app.keep(account, pair.Refresh)
	return s.h.setAccounts(ctx)
}

// storedPair is the part of the stored tokens that the daemon, or a person, reads.
type storedPair struct {
	Refresh    string `json:"refresh_token"`
	Connection string `json:"connection"`
	Reconnect  string `json:"reconnect"`
}

func (h *house) tokens(ctx context.Context, account string) (pair storedPair, err error) {
	raw, err := h.archive.LoadToken(ctx, account)
	if err == nil && raw != nil {
		err = json.Unmarshal(raw, &pair)
	}
	return pair, err
}

// connect has a person allow the app to read for an account.
func (w *world) connect(name string) {
	h := w.house
	i := slices.IndexFunc(w.config.accounts, func(a account) bool { return a.name == name && a.oauth })
	if h == nil || h.dead.Load() || h.isSick() || i < 0 || !w.org.person(w.config.accounts[i].email).isActive() {
		return
	}
	a := w.config.accounts[i]
	code, err := w.upstream.service.AuthorizeApp(context.Background(), w.app.id, a.email, redirectURL)
	w.must(err, "allow the app")
	w.app.mu.Lock()
	w.app.codes[code] = &connection{name: fmt.Sprintf("connection %d", len(w.app.codes)+1), owner: a.email, code: code}
	w.app.mu.Unlock()
	w.oracle.move(a.email)
	w.disturbRelay()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	err = h.apps[name].Exchange(ctx, code)
	w.journal.note("%s connects the account: %v", name, err == nil)
}

// connectAgain has people connect the accounts again whose connection the program calls lost,
// after a while. Who is gone connects nothing: the account leaves the configuration.
func (w *world) connectAgain() {
	h := w.house
	if h == nil || h.dead.Load() || h.isSick() {
		return
	}
	w.app.checkArrivals(w)
	for _, a := range w.config.accounts {
		if !a.oauth {
			continue
		}
		status, err := h.apps[a.name].Status(context.Background())
		w.must(err, "read the state of a connection")
		if status.Connected {
			continue
		}
		if p := w.org.person(a.email); !p.isActive() {
			w.journal.note("account %s is not connected, and leaves the configuration", a.name)
			w.replaceAccount(a.name)
			return
		}
		g := w.dice.roll("connect " + a.name)
		w.later([]time.Duration{time.Minute, time.Hour, 5 * time.Hour}[g.IntN(3)], "connect "+a.name, func() {
			if !w.app.isConnected(a.name) {
				w.connect(a.name)
			}
		})
	}
}

// replaceAccount takes an account out of the configuration. In place of the only one comes
// somebody else's.
func (w *world) replaceAccount(name string) {
	list := slices.DeleteFunc(slices.Clone(w.config.accounts), func(a account) bool { return a.name == name })
	if p := w.org.people[0]; len(list) == 0 && p.name != name {
		list = append(list, account{name: p.name, email: p.email, address: p.at(), key: p.key})
		w.config.secrets[p.name] = w.newSecret(p.name)
	}
	if len(list) == 0 {
		return
	}
	w.config.accounts = list
	w.reconfigured()
}

// loseTokens kills the program when it gets new tokens, before they come or before they are
// kept.
func (w *world) loseTokens(g *rand.Rand) {
	h := w.house
	if h == nil || len(h.apps) == 0 {
		return
	}
	w.journal.note("the program dies when it gets new tokens")
	h.losesTokens.Store(true)
}

// revoke ends a key, or a connection, at the service. The configuration has a new one after
// some days.
func (w *world) revoke(g *rand.Rand) {
	a := w.config.accounts[g.IntN(len(w.config.accounts))]
	p := w.org.person(a.email)
	if !w.works(a) {
		return
	}
	w.oracle.move(a.email)
	w.disturbRelay()
	if a.oauth {
		w.app.revoke(w, a.name)
		w.journal.note("the connection of %s is revoked", a.name)
		return
	}
	w.must(w.upstream.service.RevokeKey(context.Background(), w.keyIDs[a.key]), "revoke a key")
	p.key = ""
	w.journal.note("the key of %s is revoked", a.name)
	w.later(time.Duration(1+g.IntN(200))*time.Hour, "a new key", w.renewKeys)
}

// renewKeys gives accounts whose key was revoked a new one.
func (w *world) renewKeys() {
	renewed := false
	for i := range w.config.accounts {
		a := &w.config.accounts[i]
		p := w.org.person(a.email)
		if a.oauth || !p.isActive() || w.works(*a) || w.seed < firstWide {
			continue
		}
		w.newKeyOnce(p)
		a.key, renewed, p.rekeyed = p.key, true, time.Now()
		w.journal.note("account %s has a new key", a.name)
	}
	if renewed {
		w.reconfigured()
	}
}

// mend has people renew every credential that does not work.
func (w *world) mend() {
	w.renewKeys()
	w.correctTeams()
	w.correctAddresses()
	for _, a := range w.config.accounts {
		if a.oauth && !w.app.isConnected(a.name) {
			w.connect(a.name)
		}
	}
}

// revoke uses the code of an account's connection again, after which the service revokes it.
func (a *app) revoke(w *world, account string) {
	a.mu.Lock()
	c := a.refresh[a.kept[account]]
	c.revoked = true
	a.mu.Unlock()
	form := url.Values{"grant_type": {"authorization_code"}, "code": {c.code}, "client_id": {a.id}, "client_secret": {a.secret}, "redirect_uri": {redirectURL}}
	r := httptest.NewRequest(http.MethodPost, baseURL+tokenPath, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	w.upstream.service.Handler().ServeHTTP(answer, r)
	if answer.Code != http.StatusBadRequest {
		w.fail("revoke a connection: status %d", answer.Code)
	}
}

// isNarrowed reports whether a meeting is shown to fewer people than at the service, while
// the key of an account that had listed the meeting is refused: of the newest reads the
// narrowest counts, that account's for 90 days.
func (w *world) isNarrowed(m *meeting, sharing string) bool {
	narrowest := []string{"no_teams", "multiple_teams", "single_team", "all_teams"}
	return slices.Index(narrowest, sharing) < slices.Index(narrowest, m.sharing) && w.isRefusedAnywhere(m)
}

// isReturned reports whether content at the service has become again as it once was, while
// the key of an account that had listed the meeting is refused. That account stays the part's
// home for 90 days, and content that others show again counts as of its first showing.
func (w *world) isReturned(m *meeting, member string, got, want []byte) bool {
	o, name := w.oracle, fmt.Sprintf("%d/%s/", m.id, member)
	o.mu.Lock()
	defer o.mu.Unlock()
	before, ok := o.first[name+canonical(want)]
	return ok && before.Before(o.last[name+canonical(got)]) && w.isRefusedAnywhere(m)
}

// isBehind reports whether the archive has another sharing or content of a meeting than the
// service for a reason that isNarrowed or isReturned allow.
func (w *world) isBehind(ctx context.Context, ar *archive.Archive, m *meeting) bool {
	row, err := ar.Row(ctx, m.id)
	w.must(err, "read a meeting")
	parts, err := ar.PartsOf(ctx, m.id)
	w.must(err, "read the parts")
	isBehind := w.isNarrowed(m, row.SharedWith) || row.MeetingType != m.kind && w.isRefusedAnywhere(m)
	for member, want := range w.contentOfNow(m) {
		got := parts[api.Part(partOf(member))]
		isBehind = isBehind || hasContent(got) && canonical(got) != canonical([]byte(want)) && w.isReturned(m, member, got, []byte(want))
	}
	return isBehind
}

// isRefusedAnywhere reports whether an account that ever listed a meeting is configured with
// a key that the service refuses.
func (w *world) isRefusedAnywhere(m *meeting) bool {
	return slices.ContainsFunc(w.config.accounts, func(a account) bool {
		_, listed := w.oracle.listed[m.id][a.email]
		return listed && !w.isRead(w.org.person(a.email))
	})
}

// isReadByAll reports whether every account that ever listed a meeting still walks, as the
// same holder and by the same lists as when it last did.
func (w *world) isReadByAll(m *meeting) bool {
	listed := w.oracle.listed[m.id]
	for who, l := range listed {
		i := slices.IndexFunc(w.config.accounts, func(a account) bool {
			return a.email == who && w.credentialOf(a) == l.credential && w.works(a)
		})
		if i < 0 || w.oracle.hasMoved(who, l.kept) {
			return false
		}
	}
	return len(listed) > 0
}
