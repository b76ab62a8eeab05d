package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"minutebook/archive"
	"minutebook/config"
	syncer "minutebook/sync"
)

// setAccounts tells the archive which accounts there are and whose each is. A
// command that was given no account, as with --data, says nothing of them.
func (h *house) setAccounts(ctx context.Context) error {
	if len(h.cfg.Accounts) == 0 && !h.opts.Daemon {
		return nil
	}
	var settings []archive.AccountSetting
	for _, a := range h.cfg.Accounts {
		credential, err := h.credential(ctx, a)
		if err != nil {
			return fmt.Errorf("connect account %s: %w", a.Name, err)
		}
		settings = append(settings, archive.AccountSetting{Name: a.Name, Email: a.Email, Credential: credential,
			Queries: syncer.Queries(a.RecordedBy, a.Teams)})
	}
	return h.archive.SetAccounts(ctx, settings)
}

// credential is a digest that differs when somebody else's credential takes the
// place of an account's: of its key, or of the connection that a person allowed.
// The service tells of none whose it is. "" where nothing is connected yet.
func (h *house) credential(ctx context.Context, a config.Account) (string, error) {
	secret := a.APIKey
	if a.OAuth != nil {
		raw, err := h.archive.LoadToken(ctx, a.Name)
		if err != nil || raw == nil {
			return "", err
		}
		var token struct {
			Connection string `json:"connection"`
		}
		if err := json.Unmarshal(raw, &token); err != nil {
			return "", fmt.Errorf("read its tokens: %w", err)
		}
		secret = "connection " + token.Connection
	}
	sum := sha256.Sum256([]byte("minutebook account\x00" + secret))
	return hex.EncodeToString(sum[:8]), nil
}

// tokenStore keeps the tokens of OAuth connections in the archive, which is told
// when an account was connected anew.
type tokenStore struct{ h *house }

// LoadToken is part of api.TokenStore.
func (t tokenStore) LoadToken(ctx context.Context, account string) ([]byte, error) {
	return t.h.archive.LoadToken(ctx, account)
}

// SaveToken is part of api.TokenStore.
func (t tokenStore) SaveToken(ctx context.Context, account string, token []byte) error {
	if err := t.h.archive.SaveToken(ctx, account, token); err != nil {
		return err
	}
	return t.h.setAccounts(ctx)
}
