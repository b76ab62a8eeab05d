package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/config"
	"minutebook/control"
	"minutebook/web/access"
)

// webhookDeps returns the dependencies of the operations on webhooks.
func (app *application) webhookDeps() control.Webhooks {
	w := control.Webhooks{
		Archive: app.archive, PublicURL: app.config().Receiver.PublicURL, Refresh: app.refresh, Index: app.Index, Now: time.Now,
		Client: app.clientFor,
		Configured: func(account string) []string {
			a, err := app.findAccount(account)
			if err != nil {
				return nil
			}
			return a.WebhookSecrets
		},
	}
	for _, a := range app.config().Accounts {
		w.Accounts = append(w.Accounts, a.Name)
	}
	return w
}

// clientFor returns the client of an account that the syncer uses, so that all
// calls count against one budget.
func (app *application) clientFor(ctx context.Context, account string) (*api.Client, error) {
	if strings.HasPrefix(account, access.AccountPrefix) {
		return app.connectedClient(ctx, account)
	}
	if _, err := app.findAccount(account); err != nil {
		return nil, err
	}
	if _, err := app.Syncer(ctx); err != nil {
		return nil, err
	}
	app.mu.Lock()
	defer app.mu.Unlock()
	return app.configured.clients[account], nil
}

func (app *application) findAccount(name string) (*config.Account, error) {
	var names []string
	for _, a := range app.config().Accounts {
		if a.Name == name {
			return &a, nil
		}
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("find account %q: the configuration has no [[accounts]]; name its file with -c FILE", name)
	}
	return nil, fmt.Errorf("find account %q: the configuration has only %s", name, strings.Join(names, ", "))
}
