package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	syncer "minutebook/sync"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// connectedInterval is how often the daemon looks whether the directory parks an account
// or lets one go on. The account's calls end at once, whenever it looks.
const connectedInterval = 10 * time.Second

// Connector returns the connector of people's own accounts, or nil where nobody can have
// one: without people, and while no setting says which service the archive reads.
func (app *application) Connector(ctx context.Context) (*accounts.Connector, error) {
	people, err := app.Access(ctx)
	if err != nil {
		return nil, err
	}
	app.connecting.Lock()
	defer app.connecting.Unlock()
	if app.connector != nil {
		return app.connector, nil
	}
	connector, err := app.newConnector(ctx, app.config(), people)
	app.connector = connector
	return connector, err
}

// newConnector makes the connector of people's own accounts by a configuration, or nil
// while no setting says which service the archive reads.
func (app *application) newConnector(ctx context.Context, cfg *config.Config, people *access.DB) (*accounts.Connector, error) {
	service := cfg.ServiceURL()
	if service == "" {
		known, err := app.archive.Mark(ctx, serviceMark)
		if err != nil || known == nil {
			return nil, err
		}
		service = string(known)
	}
	own := cfg.Web.Accounts
	o := accounts.Options{People: people, BaseURL: service, Budgets: app.archive, IsConfigured: app.isConfigured,
		Now: time.Now, Logger: app.log, UserAgent: "minutebook/" + app.opts.Version}
	if own.OAuth.ClientID != "" {
		o.App = &accounts.App{ClientID: own.OAuth.ClientID, ClientSecret: own.OAuth.ClientSecret, AuthorizeURL: own.OAuth.AuthorizeURL,
			TokenURL: own.OAuth.TokenURL, RedirectURL: cfg.Web.PublicURL + accounts.RedirectPath,
			Budget: app.tokenBudget(service, own.OAuth.TokenURL, own.OAuth.ClientID)}
	}
	return accounts.New(o)
}

// isConfigured reports whether an account of the configuration has an API key.
func (app *application) isConfigured(key string) bool {
	return slices.ContainsFunc(app.config().Accounts, func(a config.Account) bool { return a.OAuth == nil && a.APIKey == key })
}

// connectedAccounts returns the accounts of people that are read: those that are not
// parked. A command without the key leaves the ones that the daemon reads in force.
func (app *application) connectedAccounts(ctx context.Context) ([]access.Account, *accounts.Connector, error) {
	connector, err := app.Connector(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := app.listConnected(ctx, connector)
	return list, connector, err
}

// listConnected lists the connector's accounts that people have connected, none when it is
// nil.
func (app *application) listConnected(ctx context.Context, connector *accounts.Connector) ([]access.Account, error) {
	if connector == nil {
		return nil, nil
	}
	all, err := connector.List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(a access.Account) bool {
		return a.Parked != "" && (app.opts.Daemon || !a.Keyless)
	}), nil
}

// connectedSettings returns the settings of connected accounts for the archive. Another
// connection counts as another holder's, since the service does not say whose it is.
func connectedSettings(list []access.Account) (settings []archive.AccountSetting) {
	for _, a := range list {
		settings = append(settings, archive.AccountSetting{Name: a.Name, Email: a.Address,
			Credential: fmt.Sprintf("connection %d", a.ID), Queries: syncer.Queries(nil, nil)})
	}
	return settings
}

// connectClients makes the clients of connected accounts. One whose client cannot be
// made, as when its OAuth app left the configuration, is not read, and the log says so.
func (app *application) connectClients(list []access.Account, connector *accounts.Connector) (out []syncer.Account) {
	for _, a := range list {
		if a.Parked != "" {
			continue
		}
		client, err := connector.Client(a)
		if err != nil {
			app.log.Error().Err(err).Str("account", a.Name).Msg("an account that a person has connected is not read")
			continue
		}
		out = append(out, syncer.Account{Name: a.Name, Client: client, OAuth: a.Kind == access.AccountOAuth, Remedy: accounts.Remedy})
	}
	return out
}

// followConnected keeps the sync's and the archive's accounts as people connect and end
// theirs, and as the directory and admins let people go, until ctx ends.
func (d *daemon) followConnected(ctx context.Context) error {
	people, err := d.Access(ctx)
	if err != nil {
		return err
	}
	known, first := map[string]int64{}, true
	for ctx.Err() == nil {
		changed := people.Changed()
		list, err := d.applyConnected(ctx, known, first)
		switch {
		case err == nil:
			first = false
			clear(known)
			for _, a := range list {
				known[a.Name] = a.ID
			}
		case ctx.Err() == nil:
			d.log.Error().Err(err).Msg("read the accounts that people have connected; trying again")
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(cmp.Or(d.opts.ConnectedInterval, connectedInterval)):
		}
	}
	return nil
}

// applyConnected hands the accounts that are read now to the sync and to the archive, if
// they are others than those known. A connection that is new is brought up to date.
func (d *daemon) applyConnected(ctx context.Context, known map[string]int64, first bool) ([]access.Account, error) {
	d.loading.Lock()
	defer d.loading.Unlock()
	list, connector, err := d.connectedAccounts(ctx)
	if err != nil || connector == nil {
		return nil, err
	}
	same := len(list) == len(known) && !slices.ContainsFunc(list, func(a access.Account) bool { return known[a.Name] != a.ID })
	if first {
		d.reportParked(ctx, connector)
	} else if same {
		return list, nil
	}
	if err := d.checkService(ctx, d.config()); err != nil {
		return nil, err
	}
	if err := d.setAccounts(ctx); err != nil {
		return nil, err
	}
	if err := d.syncer.SetAccounts(append(slices.Clone(d.configured.accounts), d.connectClients(list, connector)...)); err != nil {
		return nil, err
	}
	for _, a := range list {
		if id := known[a.Name]; !first && id != a.ID {
			d.log.Info().Str("account", a.Name).Msg("a person has connected their account")
			d.background.Go(func() { d.bringUpToDate(ctx, a.Name) })
		}
	}
	return list, nil
}

// bringUpToDate reads the lists of an account that was just connected.
func (d *daemon) bringUpToDate(ctx context.Context, account string) {
	err := d.syncer.Sync(ctx, syncer.Request{Account: account}, nil)
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Str("account", account).Msg("the first read of a connected account failed; the schedule goes on")
	}
}

// reportParked logs the accounts that are not read.
func (d *daemon) reportParked(ctx context.Context, connector *accounts.Connector) {
	all, err := connector.List(ctx)
	if err != nil {
		return // the list has just been read without an error
	}
	for _, a := range all {
		if a.Parked != "" {
			d.log.Warn().Str("account", a.Name).Str("reason", a.Parked).Msg("an account that a person has connected is parked")
		}
	}
}

// connectedClient returns the client of an account that a person has connected.
func (app *application) connectedClient(ctx context.Context, name string) (*api.Client, error) {
	list, connector, err := app.connectedAccounts(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if a.Name == name {
			return connector.Client(a)
		}
	}
	return nil, fmt.Errorf("find account %q: no person has connected it, or it is parked; `minutebook user list` shows them", name)
}
