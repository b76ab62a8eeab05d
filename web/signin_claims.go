package web

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"minutebook/internal/outbound"
	"minutebook/internal/rawjson"
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

// findByCode exchanges the code of a redirect and returns the person.
func (s *server) findByCode(r *http.Request, a attempt) (access.Person, error) {
	q := r.URL.Query()
	switch {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(a.State)) != 1:
		return access.Person{}, errors.New("the state is of another sign-in")
	case q.Get("error") != "":
		return access.Person{}, toProviderError(q.Get("error"))
	}
	if err := s.oidc.checkIssuer(r.Context(), q["iss"]); err != nil {
		return access.Person{}, err
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
	claims, err := readToken(id)
	if err != nil {
		return access.Claims{}, err
	}
	if (claims["azp"] != nil || len(id.Audience) > 1) && claims.text("azp") != p.ClientID { // who gets a token for several clients
		return access.Claims{}, errors.New("check the ID token: it was given to another client")
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.Nonce)) != 1 {
		return access.Claims{}, errors.New("check the ID token: the nonce is of another sign-in")
	}
	if skew := id.IssuedAt.Sub(p.now()); skew.Abs() > oidcSlack {
		return access.Claims{}, fmt.Errorf("check the ID token: it was issued %v from now; set the clocks of this machine and of the provider", skew.Round(time.Second))
	}
	return p.readClaims(ctx, provider, id, claims, token)
}

// withoutSecrets returns an error of the token endpoint without its body, which can
// have tokens.
func withoutSecrets(action string, err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("%s: the provider answered %s %s", action, answer.Response.Status, answer.ErrorCode)
	}
	return fmt.Errorf("%s: %w", action, outbound.ExplainTLS(err))
}

// claimSet are the claims of an ID token, or of an answer of the userinfo endpoint, by
// their names. encoding/json, with which go-oidc reads them, takes "Email" for "email" too;
// providers let people name claims of their own.
type claimSet map[string]json.RawMessage

// readToken returns the claims of an ID token. It fails for one whose claims go-oidc can
// have taken from others, which are called nearly alike.
func readToken(id *oidc.IDToken) (claimSet, error) {
	var raw json.RawMessage
	if err := id.Claims(&raw); err != nil {
		return nil, fmt.Errorf("read the claims of the ID token: %w", err)
	}
	return readClaimSet(raw, "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "nonce")
}

// readClaimSet reads claims. It fails where one is there twice, and where one is called
// like one of the names in other letters.
func readClaimSet(raw []byte, names ...string) (claimSet, error) {
	members, err := rawjson.Members(raw)
	if err != nil {
		return nil, fmt.Errorf("read the provider's claims: %w", err)
	}
	claims := claimSet{}
	for _, m := range members {
		isLike := func(name string) bool { return m.Key != name && strings.EqualFold(m.Key, name) }
		if claims[m.Key] != nil || slices.ContainsFunc(names, isLike) {
			return nil, fmt.Errorf("read the provider's claims: %q is there twice, or is written in other letters", cut(m.Key))
		}
		claims[m.Key] = m.Value
	}
	return claims, nil
}

// text returns a claim that is a text, "" for any other.
func (c claimSet) text(name string) (text string) {
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// readClaims reads the person's claims from those of the ID token. Providers may leave them
// out there (OpenID Connect Core 5.4): then the userinfo endpoint is asked.
func (p *relyingParty) readClaims(ctx context.Context, provider *oidc.Provider, id *oidc.IDToken, c claimSet, token *oauth2.Token) (access.Claims, error) {
	if provider.UserInfoEndpoint() != "" && (c.text("email") == "" || p.AdminGroup != "" && c["groups"] == nil) {
		info, err := p.askUserInfo(ctx, provider, id.Subject, token)
		if err != nil {
			return access.Claims{}, err
		}
		maps.Copy(c, info)
	}
	claims := access.Claims{Issuer: id.Issuer, Subject: id.Subject, Address: c.text("email"), Name: c.text("name"), Verified: p.TrustEmail}
	if claims.Address == "" {
		return access.Claims{}, errors.New(`read the person's claims: there is no "email"`)
	}
	if verified, ok := c["email_verified"]; ok { // some providers write the text "true"
		claims.Verified = slices.Contains([]string{`true`, `"true"`}, string(verified))
	}
	if p.AdminGroup != "" {
		groups, err := readGroups(c["groups"])
		if err != nil {
			return access.Claims{}, err
		}
		claims.Admin = slices.Contains(groups, p.AdminGroup)
	}
	return claims, nil
}

// askUserInfo asks the userinfo endpoint for the claims about a subject.
func (p *relyingParty) askUserInfo(ctx context.Context, provider *oidc.Provider, subject string, token *oauth2.Token) (claimSet, error) {
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, withoutSecrets("ask for the person's claims", err)
	}
	var raw json.RawMessage
	if err := info.Claims(&raw); err != nil {
		return nil, fmt.Errorf("read the person's claims: %w", err)
	}
	claims, err := readClaimSet(raw, "sub")
	if err != nil {
		return nil, err
	}
	if claims.text("sub") != subject {
		return nil, errors.New("ask for the person's claims: the provider answered about another subject")
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

// checkEncryption fails for a provider with an https address that has an address without
// encryption for the client's secret, its keys or its people.
func (p *relyingParty) checkEncryption(provider *oidc.Provider) error {
	if !strings.HasPrefix(p.Issuer, "https:") {
		return nil
	}
	var discovery struct {
		Authorization string `json:"authorization_endpoint"`
		Token         string `json:"token_endpoint"`
		Keys          string `json:"jwks_uri"`
		UserInfo      string `json:"userinfo_endpoint"`
	}
	if err := provider.Claims(&discovery); err != nil {
		return err
	}
	for _, address := range []string{discovery.Authorization, discovery.Token, discovery.Keys, discovery.UserInfo} {
		if u, err := url.Parse(address); address != "" && (err != nil || u.Scheme != "https") {
			return errors.New("it names an address without https: correct the provider's own address there (behind a proxy: X-Forwarded-Proto)")
		}
	}
	return nil
}
