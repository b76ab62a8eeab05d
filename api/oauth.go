package api

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// OAuthOptions describe a connection through an OAuth app (specification 4.12,
// 5.5 and 5.6). Account, BaseURL, the client's ID and secret and Store are
// required, RedirectURL for connecting.
type OAuthOptions struct {
	Account      string // the name used in messages and in Store
	BaseURL      string
	ClientID     string
	ClientSecret string
	RedirectURL  string // https
	AuthorizeURL string // "": BaseURL/oauth2/authorize
	TokenURL     string // "": BaseURL/oauth2/token
	Store        TokenStore
	HTTP         *http.Client
	Budget       *Budget // the app's, of calls to the token endpoint; nil: one that is not stored
	Now          func() time.Time
	Rand         func() float64 // as in ClientOptions
	Logger       zerolog.Logger
	Remedy       string // how the account is connected again; "": by the command
}

// TokenStore keeps the tokens of an account.
type TokenStore interface {
	// LoadToken returns the last saved value, or nil when there is none.
	LoadToken(ctx context.Context, account string) ([]byte, error)
	// SaveToken replaces the value, and returns when the new one is durable.
	SaveToken(ctx context.Context, account string, token []byte) error
}

// OAuth is the credential of an OAuth connection. It renews the access token
// before it expires, one refresh at a time, and stores the rotated pair durably
// before using it: the old refresh token is void as soon as the service has
// answered. If a crash loses a pair between the two, the next refresh is refused
// and the connection has to be made again ([NeedsReconnect]). It is safe for
// concurrent use.
type OAuth struct {
	o      OAuthOptions
	client *Client // for the token endpoint's host
	path   string  // the token endpoint there

	logins logins

	turn     chan struct{} // a semaphore that guards the fields below
	pair     *tokenPair    // from the store; nil: not read yet
	unstored *tokenPair    // issued, but not stored: not to be used yet
}

const (
	scope          = "public_api"
	tokenTimeout   = 30 * time.Second
	authorizePath  = "/oauth2/authorize"
	tokenPath      = "/oauth2/token"
	refreshAhead   = 2 * time.Minute
	refreshAheadBy = 10 // at most this part of a token's life
)

// NewOAuth checks the options. It neither sends nor reads anything.
func NewOAuth(o OAuthOptions) (*OAuth, error) {
	base, err := ParseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.ClientID == "" || o.ClientSecret == "" || o.Store == nil || o.Account == "" {
		return nil, errors.New("set up oauth: account, client_id, client_secret and a store are needed")
	}
	if o.AuthorizeURL == "" {
		o.AuthorizeURL = base.String() + authorizePath
	}
	if o.TokenURL == "" {
		o.TokenURL = base.String() + tokenPath
	}
	token, err := ParseBaseURL(o.TokenURL)
	if err != nil {
		return nil, fmt.Errorf("set up oauth: token_url: %w", err)
	}
	host := url.URL{Scheme: token.Scheme, Host: token.Host}
	client, err := NewClient(ClientOptions{BaseURL: host.String(), Credential: noCredential{}, HTTP: o.HTTP, Budget: o.Budget,
		Now: o.Now, Rand: o.Rand, Logger: o.Logger, Timeout: tokenTimeout})
	if err != nil {
		return nil, err
	}
	if _, err := ParseBaseURL(o.AuthorizeURL); err != nil {
		return nil, fmt.Errorf("set up oauth: authorize_url: %w", err)
	}
	return &OAuth{o: o, client: client, path: token.EscapedPath(), turn: make(chan struct{}, 1)}, nil
}

// noCredential is the credential of the token endpoint, which authenticates by its
// form.
type noCredential struct{}

// Apply adds nothing to a request.
func (noCredential) Apply(context.Context, *http.Request) error { return nil }

// Refused has no newer secret for a repetition.
func (noCredential) Refused(context.Context, *http.Request) (bool, error) { return false, nil }

// InlineContent is false, since the token endpoint has no lists.
func (noCredential) InlineContent() bool { return false }

// String hides the secrets in printed values.
func (a *OAuth) String() string { return "OAuth connection of " + a.o.Account }

// GoString is String, for %#v.
func (a *OAuth) GoString() string { return a.String() }

// InlineContent is false, because the service refuses it to OAuth apps.
func (a *OAuth) InlineContent() bool { return false }

// NewState makes an unguessable value for AuthorizeURL.
func NewState() string { return rand.Text() }

// AuthorizeURL returns the address at which a person allows the connection. The
// service then sends the person to RedirectURL with a code and the state.
func (a *OAuth) AuthorizeURL(state string) (string, error) {
	u, err := url.Parse(a.o.RedirectURL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", errors.New("connect: redirect_url has to be an https address (specification 5.5)")
	}
	query := url.Values{"client_id": {a.o.ClientID}, "redirect_uri": {a.o.RedirectURL},
		"response_type": {"code"}, "scope": {scope}, "state": {state}}
	return a.o.AuthorizeURL + "?" + query.Encode(), nil
}

// CodeFrom returns the code in the address to which the service sent a person, whole
// or from its question mark on. It fails unless the address answers the request
// with this state.
func CodeFrom(address, state string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", errors.New("connect: this is no address; paste the one the browser was sent to")
	}
	query := u.Query()
	if refusal := query.Get("error"); refusal != "" {
		return "", fmt.Errorf("connect: the service refused: %s", messageIn("", []byte(refusal+" "+query.Get("error_description")), nil))
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 {
		return "", errors.New("connect: the address belongs to another attempt (its state differs); begin again")
	}
	if query.Get("code") == "" {
		return "", errors.New("connect: the address carries no code; paste the one the browser was sent to")
	}
	return query.Get("code"), nil
}

// Exchange makes the connection from a code and stores it durably. A code can be
// used once.
func (a *OAuth) Exchange(ctx context.Context, code string) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	pair, err := a.requestToken(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {a.o.RedirectURL}}, "")
	if err != nil {
		return fmt.Errorf("connect account %s: %w", a.o.Account, err)
	}
	pair.Connection = rand.Text()
	return a.storePair(ctx, pair)
}
