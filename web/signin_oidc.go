package web

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"minutebook/internal/httpserver"
	"minutebook/web/access"
)

// OIDC are the settings for signing in at an OpenID provider.
type OIDC struct {
	Issuer, ClientID, ClientSecret string

	// Entrance says who becomes a person. With AdminGroup its members are the admins.
	Entrance   access.Entrance
	AdminGroup string

	// TrustEmail accepts addresses that the provider says neither to have verified
	// nor not to have: for a provider of one's own organisation.
	TrustEmail bool

	// Client asks the provider; nil for a client with bounded times.
	Client *http.Client
}

// oidcSlack is how far the provider's clock may differ.
const oidcSlack = 5 * time.Minute

// oidcWait is how long a person may take at the provider.
const oidcWait = 15 * time.Minute

// relyingParty asks an OpenID provider who a person is.
type relyingParty struct {
	OIDC
	callback string
	now      func() time.Time

	mu       sync.Mutex // guards provider, which is found at the first sign-in
	provider *oidc.Provider
}

// newRelyingParty returns the relying party of the settings.
func newRelyingParty(o OIDC, publicURL *url.URL, now func() time.Time) *relyingParty {
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	return &relyingParty{OIDC: o, callback: publicURL.JoinPath("login/oidc/callback").String(), now: now}
}

// find returns the provider. It is discovered once; a failure is tried again with
// the next sign-in.
func (p *relyingParty) find(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.provider != nil {
		return p.provider, nil
	}
	// The provider keeps the context to fetch new keys later.
	found, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.Client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the OpenID provider for its configuration: %w", err)
	}
	p.provider = found
	return found, nil
}

// config returns the settings for asking the provider. Groups are asked for by a scope
// where the provider has one; others send them by their own settings.
func (p *relyingParty) config(provider *oidc.Provider) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, "email", "profile"}
	var known struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := provider.Claims(&known); err == nil && p.AdminGroup != "" && slices.Contains(known.Scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: provider.Endpoint(), RedirectURL: p.callback, Scopes: scopes}
}

// attempt is a sign-in that is under way. The browser keeps it in a cookie.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // PKCE's
	Next     string `json:"next"`
	Silent   bool   `json:"silent"` // the provider was told to ask the person nothing
}

// randomText returns 256 random bits as text.
func (s *server) randomText() (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(s.Rand, raw); err != nil {
		return "", fmt.Errorf("make a random text: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// attemptCookie returns the name of the cookie of an attempt.
func (s *server) attemptCookie() string { return s.cookieName() + "-oidc" }

func (s *server) keepAttempt(w http.ResponseWriter, a *attempt) error {
	c := &http.Cookie{Name: s.attemptCookie(), Path: "/", HttpOnly: true, Secure: s.Entry.isSecure(), SameSite: http.SameSiteLaxMode, MaxAge: -1}
	if a != nil {
		raw, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("keep sign-in: %w", err)
		}
		c.Value, c.MaxAge = base64.RawURLEncoding.EncodeToString(raw), int(oidcWait.Seconds())
	}
	http.SetCookie(w, c)
	return nil
}

func (s *server) readAttempt(r *http.Request) (a attempt, err error) {
	c, err := r.Cookie(s.attemptCookie())
	if err != nil {
		return a, errors.New("the browser has no sign-in under way")
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil || a.State == "" {
		return attempt{}, errors.New("the browser's sign-in cannot be read")
	}
	return a, nil
}

// oidcRoutes returns the routes for signing in at the provider. They are links,
// since browsers apply form-action of the policy to redirects too.
func (s *server) oidcRoutes() []route {
	return []route{
		{"GET /login/oidc", s.public(s.beginOIDC)},
		{"GET /login/oidc/callback", s.public(s.finishOIDC)},
	}
}

// beginOIDC answers GET /login/oidc?next=PATH&silent=1: it sends the browser to the
// provider.
func (s *server) beginOIDC(w http.ResponseWriter, r *http.Request) error {
	provider, err := s.oidc.find(r.Context())
	if err != nil {
		s.Logger.Error().Err(err).Msg("sign-in by OpenID Connect failed")
		return &failure{http.StatusBadGateway, "The sign-in service does not answer. Try again in a while."}
	}
	q := r.URL.Query()
	a := &attempt{Next: localPath(q.Get("next")), Silent: q.Get("silent") != "", Verifier: oauth2.GenerateVerifier()}
	if a.State, err = s.randomText(); err != nil {
		return err
	}
	if a.Nonce, err = s.randomText(); err != nil {
		return err
	}
	if err := s.keepAttempt(w, a); err != nil {
		return err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.Silent {
		options = append(options, oauth2.SetAuthURLParam("prompt", "none"))
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, s.oidc.config(provider).AuthCodeURL(a.State, options...), http.StatusSeeOther)
	return nil
}

// finishOIDC answers the provider's redirect back.
func (s *server) finishOIDC(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has a code
	a, err := s.readAttempt(r)
	if err := s.keepAttempt(w, nil); err != nil {
		return err
	}
	var person access.Person
	if err == nil {
		person, err = s.findByCode(r, a)
	}
	switch {
	case err != nil && a.Silent:
		s.setCookie(w, "")
		http.Redirect(w, r, "/login?"+url.Values{"next": {localPath(a.Next)}}.Encode(), http.StatusSeeOther)
		return nil
	case err != nil:
		return s.refuseOIDC(r, err)
	}
	if err := s.beginSession(w, r, person.ID, access.MethodOIDC); err != nil {
		return err
	}
	http.Redirect(w, r, localPath(a.Next), http.StatusSeeOther)
	return nil
}

// refuseOIDC writes the reason into the log and the audit, and tells the person
// nothing of it.
func (s *server) refuseOIDC(r *http.Request, reason error) error {
	s.Logger.Warn().Err(reason).Stringer("client", httpserver.ClientAddr(r, s.Entry.TrustedProxies)).Msg("sign-in by OpenID Connect failed")
	err := s.Entry.People.Record(r.Context(), access.Event{Actor: access.ActorSystem, Kind: access.SignInFailed, IDs: access.IDs{Method: access.MethodOIDC}})
	if err != nil {
		return err
	}
	return &failure{http.StatusForbidden, "You could not be signed in. An admin of this archive finds the reason in its log."}
}

// findByCode exchanges the code of a redirect and returns the person.
func (s *server) findByCode(r *http.Request, a attempt) (access.Person, error) {
	q := r.URL.Query()
	switch {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(a.State)) != 1:
		return access.Person{}, errors.New("the state is of another sign-in")
	case q.Get("error") != "":
		return access.Person{}, fmt.Errorf("the provider answered %q", q.Get("error"))
	case q.Has("iss") && q.Get("iss") != s.oidc.Issuer: // RFC 9207
		return access.Person{}, fmt.Errorf("another issuer answered: %q", q.Get("iss"))
	}
	claims, err := s.oidc.exchange(r.Context(), q.Get("code"), a)
	if err != nil {
		return access.Person{}, err
	}
	return s.Entry.People.PersonByClaims(r.Context(), claims, s.oidc.Entrance)
}

// exchange exchanges a code for an ID token, checks the token and returns its
// claims.
func (p *relyingParty) exchange(ctx context.Context, code string, a attempt) (access.Claims, error) {
	provider, err := p.find(ctx)
	if err != nil {
		return access.Claims{}, err
	}
	ctx = oidc.ClientContext(ctx, p.Client)
	token, err := p.config(provider).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return access.Claims{}, withoutSecrets("exchange the code", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return access.Claims{}, errors.New("exchange the code: the provider's answer has no ID token")
	}
	id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return access.Claims{}, fmt.Errorf("check the ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return access.Claims{}, errors.New("check the ID token: the nonce is of another sign-in")
	}
	if skew := id.IssuedAt.Sub(p.now()); skew.Abs() > oidcSlack {
		return access.Claims{}, fmt.Errorf("check the ID token: it was issued %v from now; set the clocks of this machine and of the provider", skew.Round(time.Second))
	}
	return p.readClaims(ctx, provider, id, token)
}

// withoutSecrets returns an error of the token endpoint without its body, which can
// have tokens.
func withoutSecrets(action string, err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		return fmt.Errorf("%s: the provider answered %s %s", action, answer.Response.Status, answer.ErrorCode)
	}
	return fmt.Errorf("%s: %w", action, err)
}

// personClaims are the claims about a person in an ID token, and in the answer of the
// userinfo endpoint.
type personClaims struct {
	Email    string          `json:"email"`
	Verified json.RawMessage `json:"email_verified"`
	Name     string          `json:"name"`
	Groups   json.RawMessage `json:"groups"`
}

// readClaims reads the person's claims from the ID token. Providers may leave them out
// there (OpenID Connect Core 5.4): then the userinfo endpoint is asked.
func (p *relyingParty) readClaims(ctx context.Context, provider *oidc.Provider, id *oidc.IDToken, token *oauth2.Token) (access.Claims, error) {
	var c personClaims
	if err := id.Claims(&c); err != nil {
		return access.Claims{}, fmt.Errorf("read the claims of the ID token: %w", err)
	}
	if provider.UserInfoEndpoint() != "" && (c.Email == "" || p.AdminGroup != "" && c.Groups == nil) {
		info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return access.Claims{}, withoutSecrets("ask for the person's claims", err)
		}
		if info.Subject != id.Subject {
			return access.Claims{}, errors.New("ask for the person's claims: the provider answered about another subject")
		}
		if err := info.Claims(&c); err != nil {
			return access.Claims{}, fmt.Errorf("read the person's claims: %w", err)
		}
	}
	if c.Email == "" {
		return access.Claims{}, errors.New(`read the person's claims: there is no "email"`)
	}
	claims := access.Claims{Issuer: id.Issuer, Subject: id.Subject, Address: c.Email, Name: c.Name, Verified: p.TrustEmail}
	if c.Verified != nil { // some providers write the text "true"
		claims.Verified = slices.Contains([]string{`true`, `"true"`}, string(c.Verified))
	}
	if p.AdminGroup != "" {
		groups, err := readGroups(c.Groups)
		if err != nil {
			return access.Claims{}, err
		}
		claims.Admin = slices.Contains(groups, p.AdminGroup)
	}
	return claims, nil
}

// readGroups reads the claim groups: a list of names, or one name.
func readGroups(raw json.RawMessage) (groups []string, err error) {
	var name string
	switch {
	case raw == nil:
		return nil, errors.New(`read the person's claims: web.oidc.admin_group is set and the provider sends no "groups"`)
	case json.Unmarshal(raw, &groups) == nil:
		return groups, nil
	case json.Unmarshal(raw, &name) == nil:
		return strings.Fields(name), nil
	}
	return nil, errors.New(`read the person's claims: "groups" is neither a list of names nor a name`)
}
