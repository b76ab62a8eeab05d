package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	syncer "minutebook/sync"
	"minutebook/web/access"
)

// setAccounts stores the accounts of the configuration in force and of people, and the person
// of each, in the archive. A command without accounts, as with --data, leaves them as they are.
func (app *application) setAccounts(ctx context.Context) (err error) {
	app.storing.Lock()
	defer app.storing.Unlock()
	cfg := app.config()
	if len(cfg.Accounts) == 0 && cfg.ServiceURL() == "" && !app.opts.Daemon {
		return nil
	}
	defer func() { app.unset.Store(err != nil) }()
	connected, _, err := app.connectedAccounts(ctx)
	if err != nil {
		return err
	}
	return app.storeAccounts(ctx, cfg, connected)
}

// storeAccounts stores the accounts of a configuration and the connected ones.
func (app *application) storeAccounts(ctx context.Context, cfg *config.Config, connected []access.Account) error {
	var settings []archive.AccountSetting
	for _, a := range cfg.Accounts {
		credential, err := app.credentialDigest(ctx, a)
		if err != nil {
			return fmt.Errorf("connect account %s: %w", a.Name, err)
		}
		settings = append(settings, archive.AccountSetting{Name: a.Name, Email: a.Email, Credential: credential,
			Queries: syncer.Queries(a.RecordedBy, a.Teams)})
	}
	return app.archive.SetAccounts(ctx, append(settings, connectedSettings(connected)...))
}

// credentialDigest returns a digest of an account's API key or OAuth connection.
// It changes when another credential, perhaps another person's, takes its place:
// the service does not say whose a credential is. It is "" before the first
// connection.
func (app *application) credentialDigest(ctx context.Context, a config.Account) (string, error) {
	secret := a.APIKey
	if a.OAuth != nil {
		raw, err := app.archive.LoadToken(ctx, a.Name)
		if err != nil || raw == nil {
			return "", err
		}
		connection, err := connectionIn(raw)
		if err != nil {
			return "", fmt.Errorf("read its tokens: %w", err)
		}
		secret = "connection " + connection
	}
	return digestCredential(secret), nil
}

// connectionIn returns the connection that tokens belong to.
func connectionIn(raw []byte) (string, error) {
	var token struct {
		Connection string `json:"connection"`
	}
	err := json.Unmarshal(raw, &token)
	return token.Connection, err
}

func digestCredential(secret string) string {
	sum := sha256.Sum256([]byte("minutebook account\x00" + secret))
	return hex.EncodeToString(sum[:8])
}

// keyBudget keeps the rate budget of an API key under the key's digest: the service counts
// the calls of a key, whatever the account is called here.
type keyBudget struct {
	archive *archive.Archive
	key     string // the name of the kept budget
}

// storeBudget returns where an account's rate budget is kept.
func storeBudget(ar *archive.Archive, a config.Account) api.BudgetStore {
	if a.APIKey == "" { // an OAuth connection, whose tokens are kept by the account's name
		return ar
	}
	return keyBudget{ar, "key " + digestCredential(a.APIKey)}
}

// LoadBudget implements [api.BudgetStore]. Earlier versions kept budgets by the names of
// accounts.
func (b keyBudget) LoadBudget(ctx context.Context, account string) ([]byte, error) {
	if state, err := b.archive.Mark(ctx, "budget/"+b.key); state != nil || err != nil {
		return state, err
	}
	return b.archive.LoadBudget(ctx, account)
}

// SaveBudget implements [api.BudgetStore].
func (b keyBudget) SaveBudget(ctx context.Context, _ string, state []byte) error {
	return b.archive.SaveBudget(ctx, b.key, state)
}

// tokenStore keeps the tokens of OAuth connections in the archive, and updates the
// archive's accounts when one is connected again.
type tokenStore struct{ app *application }

// LoadToken implements [api.TokenStore].
func (t tokenStore) LoadToken(ctx context.Context, account string) ([]byte, error) {
	return t.app.archive.LoadToken(ctx, account)
}

// SaveToken implements [api.TokenStore]. Renewed tokens of a connection change no account, so
// that they wait for no reload.
func (t tokenStore) SaveToken(ctx context.Context, account string, token []byte) error {
	before, err := t.app.archive.LoadToken(ctx, account)
	if err == nil {
		err = t.app.archive.SaveToken(ctx, account, token)
	}
	if err != nil || isSameConnection(before, token) && !t.app.unset.Load() {
		return err
	}
	ctx, done := t.app.untilEnd(ctx)
	defer done()
	return t.app.setAccounts(ctx)
}

func isSameConnection(a, b []byte) bool {
	before, err := connectionIn(a)
	after, err2 := connectionIn(b)
	return err == nil && err2 == nil && before == after
}
