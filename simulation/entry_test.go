package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
	"minutebook/web"
	"minutebook/web/access"
	connect "minutebook/web/accounts"
)

// entrance is a page at which people sign in, with a session and a token of each kind.
type entrance struct {
	t       *testing.T
	page    *web.Handler
	people  *access.DB
	now     time.Time
	clients int // so many have asked, each from an address of its own

	ann, boss access.Person
	cookies   map[string]string // sessions that open nothing, by why
	tokens    map[string]string // tokens that open nothing, by why
	read      string            // ann's token
	export    string            // ann's token without the scope read
	bossReads string            // the admin's token without the scope admin
	bossAdmin string
	lastToken int64
}

const (
	kept      = 1 // the meeting that ann recorded
	forgotten = 2 // another one of hers, which was erased
)

func newEntrance(t *testing.T) *entrance {
	ctx := t.Context()
	e := &entrance{t: t, now: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), cookies: map[string]string{}, tokens: map[string]string{}}
	h := &house{dir: t.TempDir(), site: &site{}}
	must(t, h.open(ctx))
	t.Cleanup(func() { h.close(t) })
	film, err := h.archive.Media().Put(ctx, strings.NewReader(film))
	must(t, err)
	raw := `{"recording_id": 1, "title": "words", "shared_with": "no_teams", "created_at": "2026-05-01T10:00:00Z",
		"recorded_by": {"name": "Ann", "email": "ann@acme.example"}, "transcript": [{"speaker": {"display_name": "Ann"}, "text": "words", "timestamp": "00:00:01"}]}`
	for _, raw := range []string{raw, strings.Replace(raw, `"recording_id": 1`, `"recording_id": 2`, 1)} {
		o, err := archive.FromMeeting("acme", archive.SourceList, e.now, []byte(raw))
		must(t, err)
		_, err = h.archive.Apply(ctx, []archive.Observation{o})
		must(t, err)
	}
	_, err = h.archive.Forget(ctx, forgotten, "test")
	must(t, err)
	must(t, h.archive.AttachMedia(ctx, kept, archive.MediaVideo, film))
	must(t, h.index.CatchUp(ctx))
	e.people, err = access.Open(ctx, access.Options{Archive: h.archive, Now: func() time.Time { return e.now }, Logger: zerolog.Nop(),
		AccountKeys: [][]byte{bytes.Repeat([]byte{1}, access.AccountKeySize)}})
	must(t, err)
	connector, err := connect.New(connect.Options{People: e.people, BaseURL: "http://127.0.0.1:1/external/v1", Logger: zerolog.Nop(),
		App: &connect.App{ClientID: "a", ClientSecret: "b", RedirectURL: "https://minutes.example" + connect.RedirectPath}})
	must(t, err)
	e.page, err = web.New(web.Options{Archive: h.archive, Index: h.index, Notes: h.notes, Logger: zerolog.Nop(), Status: sampleStatus, Location: time.UTC,
		Now: func() time.Time { return e.now }, Accounts: connector, Entry: web.Entry{People: e.people, Passwords: true,
			PublicURL: &url.URL{Scheme: "http", Host: "localhost:8377"}, OIDC: &web.OIDC{Issuer: "http://127.0.0.1:1", ClientID: "a", ClientSecret: "b"}}})
	must(t, err)
	e.admit(h)
	return e
}

// admit makes the people, their sessions and their tokens.
func (e *entrance) admit(h *house) {
	ctx := e.t.Context()
	e.boss, e.ann = e.add("boss@acme.example", true), e.add("ann@acme.example", false)
	removed, deactivated := e.add("gone@acme.example", false), e.add("out@acme.example", false)
	e.cookies["forged"], e.tokens["forged"] = strings.Repeat("A", 43), access.TokenPrefix+strings.Repeat("A", 43)
	e.cookies["empty"], e.tokens["empty"], e.tokens["a session's"] = "", "", e.begin(e.ann)
	e.cookies["expired"], e.tokens["expired"] = e.begin(e.ann), e.token(e.ann, time.Hour, access.ScopeRead)
	e.cookies["a token's"] = e.tokens["expired"]
	e.now = e.now.Add(access.SessionLife)
	e.cookies["ended"], e.cookies["removed"], e.cookies["deactivated"] = e.begin(e.ann), e.begin(removed), e.begin(deactivated)
	_, err := e.people.EndSessions(ctx, access.ActorCommand, e.ann.ID)
	must(e.t, err)
	const long = 24 * time.Hour
	e.tokens["removed"], e.tokens["deactivated"], e.tokens["revoked"] = e.token(removed, long, access.ScopeRead), e.token(deactivated, long, access.ScopeRead), e.token(e.ann, long, access.ScopeRead)
	must(e.t, e.people.RevokeToken(ctx, access.ActorCommand, e.ann.ID, e.lastToken))
	must(e.t, e.people.RemovePerson(ctx, access.ActorCommand, removed.ID))
	must(e.t, h.archive.PutUsers(ctx, "acme", []api.User{{Email: deactivated.Address(), Status: api.StatusDeactivated}}))
	e.read, e.export = e.token(e.ann, long, access.ScopeRead), e.token(e.ann, long, access.ScopeExport)
	e.bossReads, e.bossAdmin = e.token(e.boss, long, access.ScopeRead), e.token(e.boss, long, access.ScopeRead, access.ScopeAdmin)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *entrance) add(address string, admin bool) access.Person {
	p, err := e.people.AddPerson(e.t.Context(), access.ActorCommand, address, "", admin)
	must(e.t, err)
	return p
}

// begin begins a session of a person and returns its secret.
func (e *entrance) begin(p access.Person) string {
	now, err := e.people.Person(e.t.Context(), p.ID)
	must(e.t, err)
	secret, _, err := e.people.BeginSession(e.t.Context(), now, access.MethodPassword)
	must(e.t, err)
	return secret
}

func (e *entrance) token(p access.Person, life time.Duration, scopes ...access.Scope) string {
	secret, token, err := e.people.CreateToken(e.t.Context(), access.ActorCommand, p.ID, "x", scopes, e.now.Add(life))
	must(e.t, err)
	e.lastToken = token.ID
	return secret
}

// pageAnswer is all that somebody learns from an answer.
type pageAnswer struct {
	Status int
	Header http.Header
	Body   string
}

// send asks a route, from an address of its own, with the headers given.
func (e *entrance) send(pattern, path, body string, header ...string) pageAnswer {
	method, _, ok := strings.Cut(pattern, " ")
	if !ok {
		method = http.MethodGet
	}
	r := httptest.NewRequestWithContext(e.t.Context(), method, path, strings.NewReader(body))
	if e.clients++; pattern == "POST /login" {
		e.now = e.now.Add(time.Minute) // so often one name can be tried
	}
	r.Host, r.RemoteAddr = "localhost:8377", fmt.Sprintf("192.0.%d.%d:1234", e.clients/250, e.clients%250+1)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	e.page.ServeHTTP(rec, r)
	return pageAnswer{rec.Code, rec.Header(), rec.Body.String()}
}

func cookie(secret string) []string { return []string{"Cookie", "minutebook=" + secret} }
func bearer(secret string) []string { return []string{"Authorization", "Bearer " + secret} }

// same fails unless two answers are the same to the byte.
func (e *entrance) same(row entryRow, got, want pageAnswer, format string, args ...any) {
	e.t.Helper()
	if row.random {
		got.Body, want.Body, got.Header, want.Header = "", "", nil, nil
	}
	if d := cmp.Diff(want, got); d != "" {
		e.t.Errorf("%s: %s", fmt.Sprintf(format, args...), d)
	}
}

func (e *entrance) status(got pageAnswer, want int, format string, args ...any) {
	e.t.Helper()
	if got.Status != want {
		e.t.Errorf("%s: %d, want %d: %.200s", fmt.Sprintf(format, args...), got.Status, want, got.Body)
	}
}

// TestEveryRouteAsksWhoItIs asks every route of a page at which people sign in, with
// real sessions and tokens of all kinds. Credentials that open nothing are answered alike to
// the byte, whyever they open nothing, and so are meetings that are hidden and absent.
func TestEveryRouteAsksWhoItIs(t *testing.T) {
	testrun.SkipUnderRace(t)
	e := newEntrance(t)
	for _, pattern := range e.page.Patterns() {
		if _, ok := entryRows[pattern]; !ok {
			t.Errorf("the route %q has no row in the proof of who is let in", pattern)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(entryRows)) {
		if !slices.Contains(e.page.Patterns(), pattern) {
			t.Errorf("the row %q is of no route", pattern)
		}
		row := entryRows[pattern]
		path := strings.Replace(row.path, "%d", fmt.Sprint(kept), 1)
		e.askAsNobody(pattern, path, row)
		e.askWithTokens(pattern, path, row)
		e.askAsPeople(pattern, path, row)
	}
}

// askAsNobody asks without a session, and with those that open nothing.
func (e *entrance) askAsNobody(pattern, path string, row entryRow) {
	nobody, forged := e.send(pattern, path, row.body), e.send(pattern, path, row.body, cookie(e.cookies["forged"])...)
	for why, secret := range e.cookies {
		e.same(row, e.send(pattern, path, row.body, cookie(secret)...), forged, "%s with a session that is %s", pattern, why)
	}
	isPost := strings.HasPrefix(pattern, "POST")
	switch {
	case row.asks == asksNobody:
		e.same(row, forged, nobody, "%s with a session that is forged", pattern)
	case row.asks == asksPage && !isPost:
		e.status(nobody, http.StatusSeeOther, "%s as nobody", pattern)
		e.status(forged, http.StatusUnauthorized, "%s with a session that is forged", pattern)
		if to := forged.Header.Get("Refresh"); !strings.HasPrefix(to, "0;url=/login/oidc?next=") {
			e.t.Errorf("%s leads somebody whose session is forged to %q", pattern, to)
		}
		if to := nobody.Header.Get("Location"); !strings.HasPrefix(to, "/login?next=") {
			e.t.Errorf("%s leads nobody to %q", pattern, to)
		}
	default:
		e.status(nobody, http.StatusUnauthorized, "%s as nobody", pattern)
		e.same(row, forged, nobody, "%s with a session that is forged", pattern)
	}
}

// askWithTokens asks with tokens that open nothing, with those of people and without a
// scope.
func (e *entrance) askWithTokens(pattern, path string, row entryRow) {
	forged := e.send(pattern, path, row.body, bearer(e.tokens["forged"])...)
	for why, secret := range e.tokens {
		e.same(row, e.send(pattern, path, row.body, bearer(secret)...), forged, "%s with a token that is %s", pattern, why)
	}
	live := map[string]string{"ann's": e.read, "ann's export": e.export, "boss's": e.bossReads, "boss's admin": e.bossAdmin}
	if row.asks == asksNobody {
		e.same(row, forged, e.send(pattern, path, row.body), "%s with a token that is forged", pattern)
	}
	if isForm := strings.HasPrefix(pattern, "POST"); row.asks == asksNobody || row.asks == asksPage || isForm { // no token opens it
		for who, secret := range live {
			e.same(row, e.send(pattern, path, row.body, bearer(secret)...), forged, "%s with a token that is %s", pattern, who)
		}
		return
	}
	e.status(forged, http.StatusUnauthorized, "%s with a token that is forged", pattern)
	ask := func(secret string) pageAnswer { return e.send(pattern, path, row.body, bearer(secret)...) }
	switch pattern {
	case "/mcp": // it wants a POST of its protocol
		for who, secret := range live {
			if got := ask(secret).Status; got == http.StatusUnauthorized || (got == http.StatusForbidden) != (who == "ann's export") {
				e.t.Errorf("%s with a token that is %s: %d", pattern, who, got)
			}
		}
	case "GET /metrics":
		for who, secret := range live {
			want := http.StatusNotFound
			if who == "boss's admin" {
				want = http.StatusOK
			}
			e.status(ask(secret), want, "%s with a token that is %s", pattern, who)
		}
	default:
		e.status(ask(e.export), http.StatusForbidden, "%s with a token that is ann's export", pattern)
		member, admin := row.member, row.admin
		if strings.Contains(pattern, "/media/") { // these tokens may read, not download
			member, admin = http.StatusForbidden, http.StatusForbidden
		}
		e.status(ask(e.read), member, "%s with a token that is ann's", pattern)
		e.status(ask(e.bossReads), admin, "%s with a token that is boss's", pattern)
		e.status(ask(e.bossAdmin), admin, "%s with a token that is boss's admin", pattern)
	}
}

// askAsPeople asks with the sessions of people, each of which lasts for one request.
func (e *entrance) askAsPeople(pattern, path string, row entryRow) {
	if row.asks == asksNobody {
		return
	}
	e.status(e.send(pattern, path, row.body, cookie(e.begin(e.ann))...), row.member, "%s as a member", pattern)
	admin := e.send(pattern, path, row.body, cookie(e.begin(e.boss))...)
	e.status(admin, row.admin, "%s as an admin", pattern)
	if strings.Contains(row.path, "%d") {
		never := strings.Replace(row.path, "%d", fmt.Sprint(absent), 1)
		e.same(row, admin, e.send(pattern, never, row.body, cookie(e.begin(e.boss))...), "%s of a hidden meeting", pattern)
		was := strings.Replace(row.path, "%d", fmt.Sprint(forgotten), 1)
		e.same(row, e.send(pattern, was, row.body, cookie(e.begin(e.ann))...), e.send(pattern, never, row.body, cookie(e.begin(e.ann))...), "%s of a forgotten meeting", pattern)
		if row.asks == asksData {
			e.same(row, e.send(pattern, path, row.body, bearer(e.bossReads)...), e.send(pattern, never, row.body, bearer(e.bossReads)...), "%s of a hidden meeting, by a token", pattern)
		}
	}
	if strings.Contains(pattern, " /admin/") {
		e.same(row, e.send(pattern, path, row.body, cookie(e.begin(e.ann))...), e.send("GET", "/nothing", "", cookie(e.begin(e.ann))...), "%s as a member", pattern)
	}
	if strings.HasPrefix(pattern, "POST") {
		foreign := append(cookie(e.begin(e.ann)), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
		e.status(e.send(pattern, path, row.body, foreign...), http.StatusForbidden, "%s from another site", pattern)
	}
}
