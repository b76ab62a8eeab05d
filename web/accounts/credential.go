package accounts

import (
	"context"
	"errors"
	"net/http"

	"minutebook/api"
	"minutebook/web/access"
)

// keyCredential sends an API key that is decrypted for each call.
type keyCredential struct {
	people  *access.DB
	service string
	id      int64 // of the connection
}

// Apply sets the key. It fails when the account is parked or was connected anew.
func (k *keyCredential) Apply(ctx context.Context, r *http.Request) error {
	secret, err := k.people.AccountSecret(ctx, k.service, k.id)
	if err != nil {
		return err
	}
	return api.APIKey(string(secret)).Apply(ctx, r)
}

// Refused has no newer key: another one is another connection.
func (k *keyCredential) Refused(context.Context, *http.Request) (bool, error) { return false, nil }

// InlineContent is true for API keys.
func (k *keyCredential) InlineContent() bool { return true }

// judged is an OAuth connection that is judged at each call, as API keys are.
type judged struct {
	*api.OAuth
	people  *access.DB
	service string
	id      int64
}

// Apply sets the access token unless the account is parked.
func (j *judged) Apply(ctx context.Context, r *http.Request) error {
	if _, err := j.people.AccountSecret(ctx, j.service, j.id); err != nil {
		return err
	}
	return j.OAuth.Apply(ctx, r)
}

// stored keeps the tokens of a connection, encrypted.
type stored struct {
	people  *access.DB
	service string
	id      int64
}

// LoadToken is part of [api.TokenStore].
func (s *stored) LoadToken(ctx context.Context, _ string) ([]byte, error) {
	return s.people.AccountSecret(ctx, s.service, s.id)
}

// SaveToken is part of [api.TokenStore].
func (s *stored) SaveToken(ctx context.Context, _ string, token []byte) error {
	return s.people.SaveAccountSecret(ctx, s.id, token)
}

// draft keeps the tokens of a connection in memory until it was tried. It is used by one
// goroutine.
type draft struct{ token []byte }

// LoadToken is part of [api.TokenStore].
func (d *draft) LoadToken(context.Context, string) ([]byte, error) { return d.token, nil }

// SaveToken is part of [api.TokenStore].
func (d *draft) SaveToken(_ context.Context, _ string, token []byte) error {
	if len(token) == 0 {
		return errors.New("keep tokens: there are none")
	}
	d.token = token
	return nil
}
