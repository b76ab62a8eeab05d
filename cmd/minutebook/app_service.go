package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive/notes"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/nearest"
	"minutebook/internal/process"
	"minutebook/service"
	"minutebook/web/access"
)

// Service returns the service's interface over the archive: the one that the
// daemon serves or, without one, an offline service for its administration.
func (app *application) Service(ctx context.Context) (*service.Service, error) {
	app.mu.Lock()
	defer app.mu.Unlock()
	if app.own != nil {
		return app.own, nil
	}
	if err := app.setAccounts(ctx); err != nil {
		return nil, err
	}
	s, err := service.New(ctx, service.Options{
		Archive: app.archive, PublicURL: urlOfService(app.config()), AllowPrivate: app.config().Service.AllowPrivate, Imported: app.config().Service.Imported,
		Offline: !app.opts.Daemon || !app.config().Service.Enabled, Now: time.Now, Uptime: process.Uptime, Logger: app.log,
	})
	if err != nil {
		return nil, err
	}
	app.own = s
	return s, nil
}

// urlOfService returns the address of the service's interface, "" where each request has it.
func urlOfService(cfg *config.Config) string {
	u, err := url.Parse(cfg.Web.PublicURL)
	if isHidden := err == nil && (u.Path != "" || u.Scheme == "https"); cfg.Service.PublicURL == "" && isHidden {
		return cfg.Web.PublicURL // a request tells neither the base path nor the TLS of a proxy
	}
	return cfg.Service.PublicURL
}

// finishForgetting completes an erasure that a crash interrupted. It opens the
// service's state and the notes, if there are any, so that the meeting is erased there
// too.
func (app *application) finishForgetting(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(app.config().DataDir, service.DatabaseName)); err == nil {
		if _, err := app.Service(ctx); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(app.config().DataDir, notes.Name)); err == nil {
		if _, err := app.Notes(ctx); err != nil {
			return err
		}
	}
	return app.archive.FinishForgetting(ctx)
}

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
	return nil, &nearest.UnknownError{Kind: "account", Name: name, Known: names}
}
