package web

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"minutebook/web/access"
)

// maxProviderAnswer bounds each answer of a provider, in bytes.
const maxProviderAnswer = 1 << 20

// newProviderClient returns the client that asks providers. It follows no redirects:
// the endpoints are named by the configuration and by the provider's own, and a
// request with the client's secret goes nowhere else.
func newProviderClient() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: boundedTransport{http.DefaultTransport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// boundedTransport ends every answer after [maxProviderAnswer].
type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxProviderAnswer)
	}
	return resp, err
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
	var given struct {
		To string `json:"azp"` // where the token is for several clients
	}
	if err := id.Claims(&given); err != nil {
		return access.Claims{}, fmt.Errorf("read the claims of the ID token: %w", err)
	}
	if given.To != "" && given.To != p.ClientID {
		return access.Claims{}, errors.New("check the ID token: it was given to another client")
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
