package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	syncer "minutebook/sync"
)

// serviceMark is where an archive remembers which service it holds:
// recording_id is unique only there.
const serviceMark = "service/base_url"

// accounts connects every configured account, each with a budget that is kept
// in the archive.
func (h *house) accounts(ctx context.Context) ([]syncer.Account, error) {
	if err := h.sameService(ctx); err != nil {
		return nil, err
	}
	if err := h.setAccounts(ctx); err != nil {
		return nil, err
	}
	var accounts []syncer.Account
	budgets := map[string]*api.Budget{} // by API key
	for _, a := range h.cfg.Accounts {
		client, err := h.client(a, h.budget(a, budgets))
		if err != nil {
			return nil, fmt.Errorf("connect account %s: %w", a.Name, err)
		}
		h.clients[a.Name] = client
		accounts = append(accounts, syncer.Account{
			Name: a.Name, Client: client, RecordedBy: a.RecordedBy, Teams: a.Teams,
			OAuth: a.OAuth != nil, AllowPrivate: a.AllowPrivate,
		})
	}
	return accounts, nil
}

// sameService refuses to mix two services in one archive.
func (h *house) sameService(ctx context.Context) error {
	if len(h.cfg.Accounts) == 0 {
		return nil
	}
	url := h.cfg.Accounts[0].BaseURL
	known, err := h.archive.Mark(ctx, serviceMark)
	if err != nil {
		return err
	}
	if known != nil && string(known) != url && !h.opts.Moved {
		return fmt.Errorf("use %s: this archive holds meetings of %s, and recording ids are unique only there; "+
			"give the other service a data_dir of its own, or, if the service itself has moved, run `minutebook init --moved`", url, known)
	}
	if string(known) == url {
		return nil
	}
	return h.archive.SetMarks(ctx, archive.Mark{Key: serviceMark, Value: []byte(url)})
}

// budget is what the service counts an account's calls by. Two accounts with one
// key are one to it.
func (h *house) budget(a config.Account, byKey map[string]*api.Budget) *api.Budget {
	if b, ok := byKey[a.APIKey]; ok && a.APIKey != "" {
		return b
	}
	b := api.NewBudget(api.BudgetOptions{Connection: a.Name, Now: time.Now, Store: h.archive, Logger: h.log})
	byKey[a.APIKey] = b
	return b
}

// client connects one account. All that uses the connection shares its budget.
func (h *house) client(a config.Account, budget *api.Budget) (*api.Client, error) {
	credential := api.APIKey(a.APIKey)
	if a.APIKeyFile != "" {
		credential = api.APIKeyFromFile(a.APIKeyFile) // read again when it is refused
	}
	if a.OAuth != nil {
		oauth, err := h.connection(a, budget)
		if err != nil {
			return nil, err
		}
		h.connections[a.Name] = oauth
		credential = oauth
	}
	return api.NewClient(api.ClientOptions{
		BaseURL: a.BaseURL, Credential: credential, Budget: budget,
		Now: time.Now, Logger: h.log, UserAgent: "minutebook/" + h.opts.Version,
	})
}

// redirects serves the addresses that OAuth apps send people back to, by path.
func (h *house) redirects() map[string]http.Handler {
	h.mu.Lock()
	defer h.mu.Unlock()
	byPath := map[string][]*api.OAuth{}
	for _, c := range h.connections {
		byPath[c.RedirectPath()] = append(byPath[c.RedirectPath()], c)
	}
	handlers := map[string]http.Handler{}
	for path, connections := range byPath {
		handlers[path] = api.RedirectHandler(connections...)
	}
	return handlers
}

// connection is the OAuth credential of an account; its tokens are kept in the
// archive.
func (h *house) connection(a config.Account, budget *api.Budget) (*api.OAuth, error) {
	o := a.OAuth
	return api.NewOAuth(api.OAuthOptions{
		Account: a.Name, BaseURL: a.BaseURL,
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.RedirectURL,
		AuthorizeURL: o.AuthorizeURL, TokenURL: o.TokenURL,
		Store: tokenStore{h}, Budget: budget, Now: time.Now, Logger: h.log,
	})
}

// schedule is the cron expression of each job.
func schedule(s config.Sync) (syncer.Schedule, error) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return syncer.Schedule{}, fmt.Errorf("read sync.time_zone: %w", err)
	}
	return syncer.Schedule{
		CatchUp: s.CatchUp, Backfill: s.Backfill, Walk: s.Walk,
		Refresh: s.Refresh, Directory: s.Directory, Location: zone,
	}, nil
}
