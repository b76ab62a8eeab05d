package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/rawjson"
)

// tokenPair is the stored state of a connection.
type tokenPair struct {
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	ObtainedAt   time.Time `json:"obtained_at"`
	ExpiresAt    time.Time `json:"expires_at,omitzero"` // zero: unknown
	Scope        string    `json:"scope,omitempty"`
	// Connection identifies one consent of a person. It stays the same when tokens
	// are renewed. Another consent may be another person's.
	Connection string `json:"connection,omitempty"`
	// Reconnect is the reason why the connection has to be made again.
	Reconnect string `json:"reconnect,omitempty"`
}

// isDue reports whether the access token has expired or soon will.
func (p *tokenPair) isDue(now time.Time) bool {
	if p.ExpiresAt.IsZero() {
		return false
	}
	margin := min(refreshAhead, p.ExpiresAt.Sub(p.ObtainedAt)/refreshAheadBy)
	return !now.Before(p.ExpiresAt.Add(-margin))
}

// ReconnectError reports that a person has to allow an OAuth connection (again).
type ReconnectError struct {
	Account string
	Reason  string
	Remedy  string // how; "": by the command
}

// Error names the reason, and how the account is connected.
func (e *ReconnectError) Error() string {
	remedy := e.Remedy
	if remedy == "" {
		remedy = "run: minutebook auth login " + e.Account
	}
	return fmt.Sprintf("account %s has to be connected: %s; %s", e.Account, e.Reason, remedy)
}

// NeedsReconnect reports whether the account has to be connected again.
func NeedsReconnect(err error) bool {
	var e *ReconnectError
	return errors.As(err, &e)
}

// OAuthStatus is the state of a connection.
type OAuthStatus struct {
	Connected bool      `json:"connected"`
	Reconnect string    `json:"reconnect,omitempty"` // the reason to make it again
	Obtained  time.Time `json:"obtained,omitzero"`   // the time of issue of its tokens
	Expires   time.Time `json:"expires,omitzero"`    // the expiry of the access token, which is renewed before
	Scope     string    `json:"scope,omitempty"`
	// Connection is another one after each consent, and the same after a renewal.
	Connection string `json:"connection,omitempty"`
}

// Status reads the connection's state from its store. It makes no call, and waits for none: while
// the tokens are being renewed the store has those of before.
func (a *OAuth) Status(ctx context.Context) (OAuthStatus, error) {
	var p *tokenPair
	var err error
	select {
	case a.turn <- struct{}{}:
		if err = a.storeKept(ctx); err == nil {
			err = a.reload(ctx)
		}
		p = a.pair
		a.unlock()
	default:
		p, err = a.load(ctx)
	}
	if err != nil {
		return OAuthStatus{}, err
	}
	return OAuthStatus{Connected: p.Reconnect == "", Reconnect: p.Reconnect, Obtained: p.ObtainedAt, Expires: p.ExpiresAt, Scope: p.Scope, Connection: p.Connection}, nil
}

// Apply sets the bearer token. It first renews a token that is due.
func (a *OAuth) Apply(ctx context.Context, r *http.Request) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	if a.pair == nil || a.pair.Reconnect != "" {
		// Another command may have connected the account since.
		if err := a.reload(ctx); err != nil {
			return err
		}
	}
	if a.pair.Reconnect != "" {
		return &ReconnectError{a.o.Account, a.pair.Reconnect, a.o.Remedy}
	}
	if a.pair.isDue(a.client.now()) {
		if err := a.refresh(ctx); err != nil {
			return err
		}
	}
	r.Header.Set("Authorization", bearer+a.pair.AccessToken)
	return nil
}

const bearer = "Bearer "

// Refused renews a token that was refused, unless that has happened already
// since the request was made.
func (a *OAuth) Refused(ctx context.Context, r *http.Request) (bool, error) {
	if err := a.lock(ctx); err != nil {
		return false, err
	}
	defer a.unlock()
	used := strings.TrimPrefix(r.Header.Get("Authorization"), bearer)
	if a.pair != nil && a.pair.AccessToken != used {
		return true, nil
	}
	if err := a.reload(ctx); err != nil {
		return false, err
	}
	if a.pair.Reconnect != "" {
		return false, &ReconnectError{a.o.Account, a.pair.Reconnect, a.o.Remedy}
	}
	if a.pair.AccessToken != used {
		return true, nil
	}
	return true, a.refresh(ctx)
}

// refresh replaces the pair. The caller has the lock, so there is one refresh at a
// time.
func (a *OAuth) refresh(ctx context.Context) error {
	old := a.pair.RefreshToken
	pair, err := a.requestToken(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old}}, old)
	if err == nil {
		pair.Connection = a.pair.Connection
		return a.storePair(ctx, pair)
	}
	if !refreshIsVoid(err) {
		return fmt.Errorf("renew the token of account %s: %w", a.o.Account, err)
	}
	// Another process may have been first: then the store has its pair.
	if err := a.reload(ctx); err != nil {
		return err
	}
	if a.pair.RefreshToken != old || a.pair.Reconnect != "" {
		if a.pair.Reconnect != "" {
			return &ReconnectError{a.o.Account, a.pair.Reconnect, a.o.Remedy}
		}
		return nil
	}
	lost := *a.pair
	lost.Reconnect = "the service no longer accepts its refresh token (" + describeRefusal(err) + ")"
	if err := a.storePair(ctx, &lost); err != nil {
		return err
	}
	a.o.Logger.Warn().Str("account", a.o.Account).Msg("the OAuth connection is lost: connect the account again with minutebook auth login")
	return &ReconnectError{a.o.Account, lost.Reconnect, a.o.Remedy}
}

// refreshIsVoid reports whether the refresh token was refused, and not the app or
// the call for a temporary reason.
func refreshIsVoid(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return false
	}
	for _, code := range []string{"invalid_client", "unauthorized_client", "unsupported_grant_type"} {
		if strings.HasPrefix(e.Message, code) {
			return false
		}
	}
	return true
}

func describeRefusal(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Message != "" {
		return strconv.Itoa(e.Status) + " " + e.Message
	}
	return strconv.Itoa(statusOf(err))
}

// requestToken calls the token endpoint. After an answer without a refresh token the old
// one stays valid.
func (a *OAuth) requestToken(ctx context.Context, form url.Values, old string) (*tokenPair, error) {
	form.Set("client_id", a.o.ClientID)
	form.Set("client_secret", a.o.ClientSecret)
	cl := &call{method: http.MethodPost, path: a.path, body: []byte(form.Encode()), form: true, classes: []Class{ClassToken}, finish: true}
	answer, err := a.client.do(ctx, cl)
	if err != nil {
		return nil, err
	}
	pair := &tokenPair{ObtainedAt: answer.sentAt.UTC().Round(0), RefreshToken: old}
	members, err := rawjson.Members(answer.body)
	for _, m := range members {
		text := textIn(m.Value)
		switch m.Key {
		case "access_token":
			pair.AccessToken = text
		case "refresh_token":
			if text != "" {
				pair.RefreshToken = text
			}
		case "scope":
			pair.Scope = text
		case "expires_in":
			if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e9 {
				pair.ExpiresAt = pair.ObtainedAt.Add(time.Duration(s * float64(time.Second)))
			}
		}
	}
	if err != nil || pair.AccessToken == "" || !canBeSent(pair.AccessToken) || pair.RefreshToken == "" {
		return nil, errors.New("the token endpoint's answer carries no token pair; check token_url")
	}
	return pair, nil
}

// storePair stores a pair durably before its use, even when the caller has gone. When the
// store fails, the pair is stored at the next lock, since the old one is void.
func (a *OAuth) storePair(ctx context.Context, pair *tokenPair) error {
	raw, err := json.Marshal(pair)
	if err == nil {
		err = a.o.Store.SaveToken(context.WithoutCancel(ctx), a.o.Account, raw)
	}
	if err != nil {
		a.unstored = pair
		return fmt.Errorf("store the tokens of account %s: %w", a.o.Account, err)
	}
	a.pair, a.unstored = pair, nil
	return nil
}

// reload reads the pair from the store. The caller has the lock.
func (a *OAuth) reload(ctx context.Context) error {
	pair, err := a.load(ctx)
	if err == nil {
		a.pair = pair
	}
	return err
}

// load returns the pair in the store.
func (a *OAuth) load(ctx context.Context) (*tokenPair, error) {
	raw, err := a.o.Store.LoadToken(ctx, a.o.Account)
	if err != nil {
		return nil, fmt.Errorf("load the tokens of account %s: %w", a.o.Account, err)
	}
	if len(raw) == 0 {
		return &tokenPair{Reconnect: "it has not been connected yet"}, nil
	}
	pair := new(tokenPair)
	if err := json.Unmarshal(raw, pair); err != nil || pair.AccessToken == "" {
		pair = &tokenPair{Reconnect: "its kept tokens are unreadable"}
	}
	return pair, nil
}

// lock takes the lock, and first stores a pair that could not be stored before. Whoever has it may
// renew the token, and wait for the service: lock fails with ErrLongWait after the longest wait of ctx.
func (a *OAuth) lock(ctx context.Context) error {
	var late <-chan time.Time
	if longest := longestWaitOf(ctx); longest > 0 {
		timer := time.NewTimer(longest)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case a.turn <- struct{}{}:
	case <-late:
		return fmt.Errorf("renew the token of account %s: %w", a.o.Account, ErrLongWait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := a.storeKept(ctx)
	if err != nil {
		a.unlock()
	}
	return err
}

// storeKept stores a pair that could not be stored before. The caller has the lock.
func (a *OAuth) storeKept(ctx context.Context) error {
	if a.unstored == nil {
		return nil
	}
	return a.storePair(ctx, a.unstored)
}

func (a *OAuth) unlock() { <-a.turn }
