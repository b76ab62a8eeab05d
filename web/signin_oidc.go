package web

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/rs/zerolog"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"minutebook/internal/outbound"
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

// oidcSlack is how far the provider's clock may differ, and how far the clock here may be
// set back during a sign-in.
const oidcSlack = 5 * time.Minute

// oidcWait is how long a person may take at the provider.
const oidcWait = 15 * time.Minute

// maxAttempts is how many sign-ins a browser may have under way.
const maxAttempts = 8

// relyingParty asks an OpenID provider who a person is.
type relyingParty struct {
	OIDC
	callback string
	now      func() time.Time

	finding  singleflight.Group            // asks for the configuration once for all who wait
	provider atomic.Pointer[foundProvider] // nil until the first sign-in has found it
}

// foundProvider is a provider by the configuration that it published.
type foundProvider struct {
	*oidc.Provider
	at time.Time
}

// discoveryLife is how long a provider's configuration is taken for its present one. A
// provider that is away is noticed as late, too: its people are led to another way in.
const discoveryLife = time.Minute

// newRelyingParty returns the relying party of the settings.
func newRelyingParty(o OIDC, publicURL *url.URL, now func() time.Time) *relyingParty {
	if o.Client == nil {
		o.Client = newProviderClient()
	}
	return &relyingParty{OIDC: o, callback: publicURL.JoinPath("login/oidc/callback").String(), now: now}
}

// CheckProvider fails where nobody can sign in at the provider: it does not answer, is
// another issuer or names addresses without encryption.
func CheckProvider(ctx context.Context, o OIDC) error {
	_, err := newRelyingParty(o, &url.URL{}, time.Now).find(ctx)
	return err
}

// find returns the provider by a configuration that is younger than [discoveryLife]. A
// failure is tried again with the next sign-in. Nobody waits longer than their own request.
func (p *relyingParty) find(ctx context.Context) (*oidc.Provider, error) {
	if found := p.provider.Load(); found != nil && p.now().Sub(found.at).Abs() < discoveryLife {
		return found.Provider, nil
	}
	// The provider keeps the context to fetch new keys later.
	longLived := oidc.ClientContext(context.WithoutCancel(ctx), p.Client)
	answer := p.finding.DoChan("", func() (any, error) {
		found, err := oidc.NewProvider(longLived, p.Issuer)
		if err == nil {
			err = p.checkEncryption(found)
		}
		if err != nil {
			return nil, fmt.Errorf("ask the OpenID provider for its configuration: %w", outbound.ExplainTLS(err))
		}
		p.provider.Store(&foundProvider{found, p.now()})
		return nil, nil
	})
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case a := <-answer:
		if a.Err != nil {
			return nil, a.Err
		}
		return p.provider.Load().Provider, nil
	}
}

// config returns the settings for asking the provider. Groups are asked for by a scope
// where the provider has one; others send them by their own settings.
func (p *relyingParty) config(provider *oidc.Provider) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID, "email", "profile"}
	var discovery struct {
		Scopes []string `json:"scopes_supported"`
	}
	if err := provider.Claims(&discovery); err == nil && p.AdminGroup != "" && slices.Contains(discovery.Scopes, "groups") {
		scopes = append(scopes, "groups")
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: provider.Endpoint(), RedirectURL: p.callback, Scopes: scopes}
}

// checkIssuer fails unless the provider says with its redirect that it is the issuer, where
// it says that it does (RFC 9207), or says nothing.
func (p *relyingParty) checkIssuer(ctx context.Context, names []string) error {
	provider, err := p.find(ctx)
	if err != nil {
		return err
	}
	var discovery struct {
		Names bool `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&discovery); err != nil {
		return fmt.Errorf("read the provider's configuration: %w", err)
	}
	if len(names) == 0 && !discovery.Names || len(names) == 1 && names[0] == p.Issuer {
		return nil
	}
	return fmt.Errorf("another issuer answered: %q", cut(strings.Join(names, " ")))
}

// attempt is a sign-in that is under way. The browser keeps it in a cookie whose name
// ends in the state.
type attempt struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // PKCE's
	Next     string `json:"next"`
	Silent   bool   `json:"silent"` // the provider was told to ask the person nothing
	Until    int64  `json:"until"`  // when it ends, in Unix seconds
}

// randomText returns 256 random bits as text.
func randomText() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// attemptPrefix begins the names of the cookies of attempts. Each attempt has a cookie
// of its own, since a browser can begin to sign in in several tabs at once.
func (s *server) attemptPrefix() string { return s.cookieName() + "-oidc-" }

// signInCookie returns a cookie beside the session's. A negative age removes it.
func (s *server) signInCookie(name, value string, age int) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: s.cookiePath(), HttpOnly: true, Secure: s.Entry.isSecure(), SameSite: http.SameSiteLaxMode, MaxAge: age}
}

// keepAttempt gives the browser the cookie of an attempt. A browser with too many loses
// those that it has, which nobody has finished.
func (s *server) keepAttempt(w http.ResponseWriter, r *http.Request, a *attempt) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("keep sign-in: %w", err)
	}
	old := slices.DeleteFunc(r.Cookies(), func(c *http.Cookie) bool { return !strings.HasPrefix(c.Name, s.attemptPrefix()) })
	if len(old) >= maxAttempts {
		for _, c := range old {
			http.SetCookie(w, s.signInCookie(c.Name, "", -1))
		}
	}
	http.SetCookie(w, s.signInCookie(s.attemptPrefix()+a.State, base64.RawURLEncoding.EncodeToString(raw), int(oidcWait.Seconds())))
	return nil
}

// errNotBegun: a redirect of the provider has come to a browser that was not sent there. Every
// page of another site can send its visitors so: it guesses nothing, and is not counted.
var errNotBegun = &failure{http.StatusForbidden, "This browser has not begun to sign in, or has begun too long ago. Sign in again."}

// takeAttempt returns the attempt whose state the provider's redirect names, and removes
// its cookie. Only the browser that began the attempt has the cookie.
func (s *server) takeAttempt(w http.ResponseWriter, r *http.Request) (a attempt, err error) {
	c, err := r.Cookie(s.attemptPrefix() + r.URL.Query().Get("state"))
	if err != nil {
		return a, errNotBegun
	}
	http.SetCookie(w, s.signInCookie(c.Name, "", -1))
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err == nil {
		err = json.Unmarshal(raw, &a)
	}
	if err != nil || a.State == "" {
		return attempt{}, errors.New("the browser's sign-in cannot be read")
	}
	until := time.Unix(a.Until, 0)
	if !s.Now().Before(until) || s.Now().Before(until.Add(-oidcWait-oidcSlack)) {
		return attempt{}, errors.New("the browser has begun this sign-in too long ago")
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
	q := r.URL.Query()
	if q.Get("silent") != "" { // a page of another site can lead here, and ends no session
		if _, err := s.identifyPerson(r); err == nil {
			http.Redirect(w, r, localPath(q.Get("next")), http.StatusSeeOther)
			return nil
		}
	}
	provider, err := s.oidc.find(r.Context())
	if err != nil && r.Context().Err() != nil {
		return err
	}
	if err != nil {
		s.Logger.Error().Str(zerolog.ErrorFieldName, cut(err.Error())).Msg("sign-in by OpenID Connect failed")
		if q.Get("silent") != "" { // nobody has asked for the provider: there may be another way in
			return s.leadToLogin(w, r, q.Get("next"))
		}
		return &failure{http.StatusBadGateway, "The sign-in service does not answer. Try again in a while."}
	}
	a := &attempt{Next: localPath(q.Get("next")), Silent: q.Get("silent") != "", Verifier: oauth2.GenerateVerifier(),
		State: randomText(), Nonce: randomText(), Until: s.Now().Add(oidcWait).Unix()}
	if err := s.keepAttempt(w, r, a); err != nil {
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
	a, err := s.takeAttempt(w, r)
	if errors.Is(err, errNotBegun) {
		return err
	}
	if err := refuseUntil(w, s.SignIns.attempts.Wait(s.client(r))); err != nil {
		return err
	}
	var person access.Person
	if err == nil {
		person, err = s.findByCode(r, a)
	}
	if err != nil && a.Silent {
		return s.endSilence(w, r, a, err)
	}
	if err != nil {
		return s.refuseOIDC(r, err)
	}
	if err := s.beginSession(w, r, person, access.MethodOIDC); err != nil {
		return err
	}
	http.Redirect(w, r, localPath(a.Next), http.StatusSeeOther)
	return nil
}

// endSilence leads a person whom the provider did not sign in by itself to the page for
// signing in. That the provider wants to ask the person is no failure.
func (s *server) endSilence(w http.ResponseWriter, r *http.Request, a attempt, reason error) error {
	if !errors.Is(reason, errAsksPerson) {
		var refusal *failure
		if err := s.refuseOIDC(r, reason); !errors.As(err, &refusal) {
			return err
		}
	}
	if _, err := s.identifyPerson(r); isOfNobody(err) { // another site can begin this too
		s.setCookie(w, "")
	}
	return s.leadToLogin(w, r, a.Next)
}

// leadToLogin leads to the page for signing in.
func (s *server) leadToLogin(w http.ResponseWriter, r *http.Request, next string) error {
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, "/login?"+url.Values{"next": {localPath(next)}}.Encode(), http.StatusSeeOther)
	return nil
}

// errAsksPerson is the answer of a provider that was told to ask the person nothing,
// and has to (OpenID Connect Core 3.1.2.6).
var errAsksPerson = errors.New("the provider has to ask the person")

// toProviderError returns the error that a provider's redirect names. Everybody can
// write one, so that it is cut.
func toProviderError(name string) error {
	switch name {
	case "login_required", "interaction_required", "consent_required", "account_selection_required":
		return fmt.Errorf("%w: %s", errAsksPerson, name)
	}
	return fmt.Errorf("the provider answered %q", cut(name))
}

// cut returns the beginning of a text for the log.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), 300)], "") }

// refuseOIDC writes the reason into the log and the audit, counts the failure, and
// tells the person nothing of it.
func (s *server) refuseOIDC(r *http.Request, reason error) error {
	s.SignIns.attempts.Fail(s.client(r))
	// A provider's answer can be part of the reason.
	s.Logger.Warn().Str(zerolog.ErrorFieldName, cut(reason.Error())).Stringer("client", s.client(r)).Msg("sign-in by OpenID Connect failed")
	err := s.Entry.People.Record(r.Context(), access.Event{Actor: access.ActorSystem, Kind: access.SignInFailed, IDs: access.IDs{Method: access.MethodOIDC}})
	if err != nil {
		return err
	}
	return &failure{http.StatusForbidden, "You could not be signed in. An admin of this archive finds the reason in its log."}
}
