package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"

	"minutebook/internal/httpserver"
	"minutebook/web/access"
)

// Entry decides who enters the page. The zero value lets the owner alone in, who is
// whoever reaches the listener.
type Entry struct {
	// People are the persons who may enter; nil for the owner.
	People *access.DB

	// PublicURL is the address under which people reach the page; nil for the owner.
	PublicURL *url.URL

	// Passwords reports whether people sign in with a password.
	Passwords bool

	// OIDC are the settings for signing in at an OpenID provider; nil: nobody does.
	OIDC *OIDC

	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix

	// ProxyHeader is the request header with the address of the person whom a proxy
	// has signed in, and ProxyNetworks are the networks of that proxy. A request from
	// any other network is refused. "" where people sign in here.
	ProxyHeader   string
	ProxyNetworks []netip.Prefix
}

// SignIns are the sign-ins that are under way, and the attempts that were counted. They
// outlive the page of a configuration, and not the process.
type SignIns struct {
	attempts    *access.Limiter
	ceremonies  *ceremonies
	connections connections
}

// NewSignIns returns sign-ins of which none has begun.
func NewSignIns(now func() time.Time) *SignIns {
	return &SignIns{attempts: access.NewLimiter(now), ceremonies: newCeremonies(now)}
}

// offers reports whether people sign in by a method.
func (e *Entry) offers(m access.Method) bool {
	if m == access.MethodOIDC {
		return e.OIDC != nil
	}
	return e.Passwords // and by passkeys
}

// isOwners reports whether the page belongs to the owner alone.
func (e *Entry) isOwners() bool { return e.People == nil }

// prepareEntry prepares signing in. It fails for settings that do not fit together.
func (s *server) prepareEntry() error {
	e := &s.Entry
	s.forms = http.NewCrossOriginProtection()
	s.forms.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, s.forms.Check(r).Error(), http.StatusForbidden)
	}))
	if e.isOwners() {
		return nil
	}
	if e.PublicURL == nil {
		return errors.New("make the page: people need a public address")
	}
	if err := s.forms.AddTrustedOrigin(e.PublicURL.Scheme + "://" + e.PublicURL.Host); err != nil {
		return fmt.Errorf("trust web.public_url: %w", err)
	}
	if e.ProxyHeader != "" {
		return nil
	}
	if e.OIDC != nil {
		s.oidc = newRelyingParty(*e.OIDC, e.PublicURL, s.Now)
	}
	if !e.Passwords {
		return nil
	}
	if err := protocol.ValidateRPID(e.PublicURL.Hostname()); err != nil {
		s.Logger.Warn().Err(err).Msg("passkeys are off: browsers take them for a domain, and web.public_url has none")
		return nil
	}
	var err error
	s.passkeys, err = newPasskeys(e.PublicURL)
	return err
}

// The reasons why a request has no visitor.
var (
	errNobody      = errors.New("nobody is signed in: sign in")
	errScope       = errors.New("this token has not the scope that this needs: make another one")
	errUnnamed     = errors.New("the proxy in front names nobody who may enter here: ask an admin of this archive")
	errUnaddressed = errors.New("the proxy in front names nobody by an e-mail address: have web.proxy_header name the header that has the address")
	errForbidden   = errors.New("this request did not come through the proxy that signs people in")
)

// isPastProxy reports whether a request did not come through the proxy that signs people
// in, where one does.
func (s *server) isPastProxy(r *http.Request) bool {
	return s.Entry.ProxyHeader != "" && !httpserver.Contains(s.Entry.ProxyNetworks, httpserver.PeerAddr(r.RemoteAddr))
}

// identifyPerson returns the visitor of a request where people sign in.
func (s *server) identifyPerson(r *http.Request) (Visitor, error) {
	if s.isPastProxy(r) {
		return Visitor{}, errForbidden
	}
	if secret, ok := bearer(r); ok && (s.Entry.ProxyHeader == "" || strings.HasPrefix(secret, access.TokenPrefix)) {
		return s.identifyToken(r, secret) // another one is the proxy's own
	}
	if r.URL.Path == "/mcp" { // assistants have a token, so that no page can use a cookie there
		return Visitor{}, access.ErrNoToken
	}
	if s.Entry.ProxyHeader != "" {
		return s.identifyProxied(r)
	}
	cookie, err := r.Cookie(s.cookieName())
	if err != nil {
		return Visitor{}, errNobody
	}
	session, person, err := s.Entry.People.Session(r.Context(), cookie.Value)
	if err == nil && !s.Entry.offers(session.Method) { // the configuration has changed since
		err = access.ErrNoSession
	}
	if err != nil {
		return Visitor{}, err
	}
	return newVisitor(&person, &session, nil), nil
}

// client returns the network address of the sender of a request.
func (s *server) client(r *http.Request) netip.Addr {
	return httpserver.ClientAddr(r, s.Entry.TrustedProxies)
}

// isForPrograms reports whether programs use an address, and tokens open it.
func isForPrograms(path string) bool {
	return path == "/mcp" || path == "/metrics" || strings.HasPrefix(path, "/api/")
}

// bearer returns the secret of an Authorization header.
func bearer(r *http.Request) (secret string, ok bool) {
	scheme, secret, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return secret, ok && strings.EqualFold(scheme, "Bearer")
}

// identifyToken returns the visitor with a personal token.
func (s *server) identifyToken(r *http.Request, secret string) (Visitor, error) {
	path := r.URL.Path
	if !isForPrograms(path) || path != "/mcp" && r.Method != http.MethodGet && r.Method != http.MethodHead { // a token changes nothing
		return Visitor{}, access.ErrNoToken
	}
	token, person, err := s.Entry.People.Token(r.Context(), secret)
	if err != nil {
		return Visitor{}, err
	}
	if !token.Has(access.ScopeRead) && path != "/metrics" {
		return Visitor{}, errScope
	}
	return newVisitor(&person, nil, &token), nil
}

// identifyProxied returns the visitor whom the proxy names. A person who is seen
// for the first time is added, and one who was removed is not.
func (s *server) identifyProxied(r *http.Request) (Visitor, error) {
	names := r.Header.Values(s.Entry.ProxyHeader)
	if len(names) != 1 || strings.TrimSpace(names[0]) == "" {
		return Visitor{}, errUnnamed
	}
	people, ctx := s.Entry.People, r.Context()
	person, err := people.Join(ctx, names[0], "")
	if errors.Is(err, access.ErrAddress) {
		s.unaddressed.Do(func() {
			s.Logger.Warn().Str("header", s.Entry.ProxyHeader).Msg("web.proxy_header has no e-mail address: nobody whom the proxy names so can enter")
		})
		return Visitor{}, errUnaddressed
	}
	if err == nil {
		err = people.CheckIn(ctx, person)
	}
	if errors.Is(err, access.ErrOut) {
		return Visitor{}, errUnnamed
	}
	if err != nil {
		return Visitor{}, err
	}
	return newVisitor(&person, nil, nil), nil
}

// isClaimed reports whether a first person exists.
func (s *server) isClaimed(ctx context.Context) bool {
	if s.hasPeople.Load() || s.Entry.ProxyHeader != "" {
		return true
	}
	found, err := s.Entry.People.AnyPerson(ctx)
	if err != nil {
		s.Logger.Error().Err(err).Msg("look for a first person")
	}
	s.hasPeople.Store(found) // it is never undone: the last admin stays
	return found
}

// isOfNobody reports whether an error means that a request has no visitor.
func isOfNobody(err error) bool {
	return errors.Is(err, errNobody) || errors.Is(err, errUnnamed) || errors.Is(err, errUnaddressed) || errors.Is(err, access.ErrNoSession) || errors.Is(err, access.ErrNoToken)
}

// claimPage says how the first person comes in.
type claimPage struct {
	frame
	Passwords bool
}

// againPage leads to the provider by itself.
type againPage struct {
	frame
	Provider string // the address that asks it
}

// leadToSignIn answers a browser's request of nobody: with the page for signing in,
// the page that asks the provider again, or the page that says how the first person comes in. It reports false where the
// request gets an error instead: forms, recordings, and a proxy's people.
func (s *server) leadToSignIn(w http.ResponseWriter, r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	isPage := (r.Method == http.MethodGet || r.Method == http.MethodHead) && (dest == "" || dest == "document")
	switch {
	case !isPage || s.Entry.ProxyHeader != "":
		return false
	case !s.isClaimed(r.Context()):
		s.renderEntry(w, http.StatusOK, "claim", claimPage{s.newFrame(r, "claim", "Nobody is invited yet"), s.Entry.Passwords})
	default:
		q := url.Values{"next": {r.URL.RequestURI()}}
		if _, err := r.Cookie(s.cookieName()); err == nil && s.oidc != nil {
			// A session has ended, and the provider may still know the person. The page leads there, and
			// no redirect: the request may be a form's, for which browsers apply form-action to redirects.
			q.Set("silent", "1")
			address := "/login/oidc?" + q.Encode()
			w.Header().Set("Refresh", "0;url="+s.base.path(address))
			s.renderEntry(w, http.StatusUnauthorized, "again", againPage{s.newFrame(r, "again", "Signing in again"), address})
			break
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "/login?"+q.Encode(), http.StatusSeeOther)
	}
	return true
}

// renderEntry is render for pages that answer a request of nobody.
func (s *server) renderEntry(w http.ResponseWriter, status int, name string, page any) {
	if err := s.render(w, status, name, page); err != nil {
		s.Logger.Error().Err(err).Msg("answer request")
	}
}

// toEntryFailure converts the error of a request without a visitor.
func toEntryFailure(err error) (*failure, bool) {
	switch {
	case errors.Is(err, errForbidden), errors.Is(err, errScope):
		return &failure{http.StatusForbidden, sentence(err)}, true
	case errors.Is(err, access.ErrNoToken):
		return &failure{http.StatusUnauthorized, sentence(access.ErrNoToken)}, true
	case errors.Is(err, errUnnamed), errors.Is(err, errUnaddressed):
		return &failure{http.StatusUnauthorized, sentence(err)}, true
	case isOfNobody(err):
		return &failure{http.StatusUnauthorized, sentence(errNobody)}, true
	}
	return nil, false
}
