package service

import (
	"context"
	"net/http"
	"strings"
)

// caller is the person who made a request.
type caller struct {
	id    string // of the key, or of the OAuth connection, which outlives its tokens
	email string
	oauth bool
}

// The answers to a credential that is not accepted (5.4).
var (
	errNoCredential  = unauthorized("missing credentials: send X-Api-Key or Authorization: Bearer")
	errTwo           = unauthorized("more than one credential was sent")
	errMalformed     = unauthorized("malformed Authorization header")
	errBadCredential = unauthorized("invalid credentials")
	errDeactivated   = unauthorized("the user of this credential is not active")
)

// authenticate returns the caller of a request, or the reason to refuse it.
func (s *Service) authenticate(r *http.Request) (caller, error) {
	keys, bearers := r.Header.Values("X-Api-Key"), r.Header.Values("Authorization")
	switch {
	case len(keys)+len(bearers) == 0:
		return caller{}, errNoCredential
	case len(keys)+len(bearers) > 1:
		return caller{}, errTwo
	}
	c, ok, err := s.findCredential(r.Context(), keys, bearers)
	if err != nil {
		return caller{}, err
	}
	if !ok {
		return caller{}, errBadCredential
	}
	if !s.mirror.IsActive(c.email) {
		return caller{}, errDeactivated
	}
	return c, nil
}

func (s *Service) findCredential(ctx context.Context, keys, bearers []string) (c caller, ok bool, err error) {
	if len(keys) == 1 {
		c.id, c.email, ok, err = s.keyOwner(ctx, strings.TrimSpace(keys[0]))
		return c, ok, err
	}
	scheme, token, found := strings.Cut(strings.TrimSpace(bearers[0]), " ")
	token = strings.TrimSpace(token)
	if !found || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " \t,") {
		return c, false, errMalformed
	}
	c.oauth = true
	c.id, c.email, ok, err = s.tokenOwner(ctx, token)
	return c, ok, err
}
