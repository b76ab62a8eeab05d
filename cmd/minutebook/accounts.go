package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	syncer "minutebook/sync"
)

// serviceMark is the key under which an archive keeps the base URL of its
// service: a recording_id is unique only within one service.
const serviceMark = "service/base_url"

// connectAccounts makes a client for every account of the configuration and of people,
// each with a budget that is kept in the archive.
func (app *application) connectAccounts(ctx context.Context) ([]syncer.Account, error) {
	if err := app.checkService(ctx); err != nil {
		return nil, err
	}
	if err := app.setAccounts(ctx); err != nil {
		return nil, err
	}
	app.configured = nil
	budgets := map[string]*api.Budget{} // by API key
	for _, a := range app.cfg.Accounts {
		client, err := app.newClient(a, app.budget(a, budgets))
		if err != nil {
			return nil, fmt.Errorf("connect account %s: %w", a.Name, err)
		}
		app.clients[a.Name] = client
		app.configured = append(app.configured, syncer.Account{
			Name: a.Name, Client: client, RecordedBy: a.RecordedBy, Teams: a.Teams,
			OAuth: a.OAuth != nil, AllowPrivate: a.AllowPrivate,
		})
	}
	list, connector, err := app.connectedAccounts(ctx)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(app.configured), app.connectClients(list, connector)...), nil
}

// checkService fails when the archive holds the meetings of another service.
func (app *application) checkService(ctx context.Context) error {
	url := app.cfg.ServiceURL()
	if url == "" {
		return nil
	}
	recorded, err := app.archive.Mark(ctx, serviceMark)
	if err != nil {
		return err
	}
	if recorded != nil && string(recorded) != url && !app.opts.Moved {
		return fmt.Errorf("use %s: this archive holds meetings of %s, and recording ids are unique only there; "+
			"give the other service a data_dir of its own, or, if the service itself has moved, run `minutebook init --moved`", url, recorded)
	}
	if string(recorded) == url {
		return nil
	}
	return app.archive.SetMarks(ctx, archive.Mark{Key: serviceMark, Value: []byte(url)})
}

// budget returns the call budget of an account. Two accounts with one API key
// share a budget, because the service counts calls by key.
func (app *application) budget(a config.Account, byKey map[string]*api.Budget) *api.Budget {
	if b, ok := byKey[a.APIKey]; ok && a.APIKey != "" {
		return b
	}
	b := api.NewBudget(api.BudgetOptions{Connection: a.Name, Now: time.Now, Store: app.archive, Logger: app.log})
	byKey[a.APIKey] = b
	return b
}

// newClient makes the client of one account. Every caller of the account shares
// the client and its budget.
func (app *application) newClient(a config.Account, budget *api.Budget) (*api.Client, error) {
	credential := api.APIKey(a.APIKey)
	if a.APIKeyFile != "" {
		credential = api.APIKeyFromFile(a.APIKeyFile) // read again when it is refused
	}
	if a.OAuth != nil {
		oauth, err := app.newConnection(a, budget)
		if err != nil {
			return nil, err
		}
		app.connections[a.Name] = oauth
		credential = oauth
	}
	return api.NewClient(api.ClientOptions{
		BaseURL: a.BaseURL, Credential: credential, Budget: budget,
		Now: time.Now, Logger: app.log, UserAgent: "minutebook/" + app.opts.Version,
	})
}

// redirectHandlers returns a handler for the redirect path of each OAuth app.
func (app *application) redirectHandlers() map[string]http.Handler {
	app.mu.Lock()
	defer app.mu.Unlock()
	byPath := map[string][]*api.OAuth{}
	for _, c := range app.connections {
		byPath[c.RedirectPath()] = append(byPath[c.RedirectPath()], c)
	}
	handlers := map[string]http.Handler{}
	for path, connections := range byPath {
		handlers[path] = api.RedirectHandler(connections...)
	}
	return handlers
}

// newConnection makes the OAuth credential of an account. Its tokens are kept in
// the archive.
func (app *application) newConnection(a config.Account, budget *api.Budget) (*api.OAuth, error) {
	o := a.OAuth
	return api.NewOAuth(api.OAuthOptions{
		Account: a.Name, BaseURL: a.BaseURL,
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.RedirectURL,
		AuthorizeURL: o.AuthorizeURL, TokenURL: o.TokenURL,
		Store: tokenStore{app}, Budget: budget, Now: time.Now, Logger: app.log,
	})
}

// parseSchedule returns the cron expression of each job and their time zone.
func parseSchedule(s config.Sync) (syncer.Schedule, error) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return syncer.Schedule{}, fmt.Errorf("read sync.time_zone: %w", err)
	}
	return syncer.Schedule{
		CatchUp: s.CatchUp, Backfill: s.Backfill, Walk: s.Walk,
		Refresh: s.Refresh, Directory: s.Directory, Location: zone,
	}, nil
}
