package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	"minutebook/internal/process"
	syncer "minutebook/sync"
)

// serviceMark is the key under which an archive keeps the base URL of its
// service: a recording_id is unique only within one service.
const serviceMark = "service/base_url"

// connectAccounts makes a client for every account of the configuration and of people,
// each with a budget that is kept in the archive.
func (app *application) connectAccounts(ctx context.Context) ([]syncer.Account, error) {
	cfg := app.config()
	if err := app.checkService(ctx, cfg); err != nil {
		return nil, err
	}
	if err := app.setAccounts(ctx); err != nil {
		return nil, err
	}
	var err error
	if app.configured, err = app.newClients(cfg, app.configured); err != nil {
		return nil, err
	}
	list, connector, err := app.connectedAccounts(ctx)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(app.configured.accounts), app.connectClients(list, connector)...), nil
}

// holdsMeetings reports whether there is a meeting in the archive, or a delivery that
// may become one. Without, another base_url is a correction.
func (app *application) holdsMeetings(ctx context.Context) (bool, error) {
	counts, err := app.archive.Counts(ctx)
	if err != nil {
		return false, err
	}
	waiting, err := app.archive.Inbox().Counts(ctx)
	return counts.Meetings > 0 || waiting.Received+waiting.Applied > 0, err
}

// clientSet has the clients of a configuration's accounts. It does not change once it
// is made.
type clientSet struct {
	settings    map[string]config.Account // those from which the clients are made, by name
	clients     map[string]*api.Client
	connections map[string]*api.OAuth
	budgets     map[string]*api.Budget // by API key: the service counts calls by key
	accounts    []syncer.Account
}

func newClientSet() *clientSet {
	return &clientSet{settings: map[string]config.Account{}, clients: map[string]*api.Client{},
		connections: map[string]*api.OAuth{}, budgets: map[string]*api.Budget{}}
}

// newClients makes the clients of a configuration's accounts. An account that connects
// as it did in present keeps its client, and the client's running calls go on.
func (app *application) newClients(cfg *config.Config, present *clientSet) (*clientSet, error) {
	set := newClientSet()
	for _, a := range cfg.Accounts {
		if b := present.budgets[a.APIKey]; b != nil {
			set.budgets[a.APIKey] = b
		}
		if old, ok := present.settings[a.Name]; ok && connectsAs(a, old) {
			set.clients[a.Name] = present.clients[a.Name]
			if c := present.connections[a.Name]; c != nil {
				set.connections[a.Name] = c
			}
		} else if err := app.addClient(set, a); err != nil {
			return nil, fmt.Errorf("connect account %s: %w", a.Name, err)
		}
		set.settings[a.Name] = a
		set.accounts = append(set.accounts, syncer.Account{
			Name: a.Name, Client: set.clients[a.Name], RecordedBy: a.RecordedBy, Teams: a.Teams,
			OAuth: a.OAuth != nil, AllowPrivate: a.AllowPrivate,
		})
	}
	return set, nil
}

// connectsAs reports whether two accounts reach the service in the same way.
func connectsAs(a, b config.Account) bool {
	return a.BaseURL == b.BaseURL && a.APIKey == b.APIKey && a.APIKeyFile == b.APIKeyFile && reflect.DeepEqual(a.OAuth, b.OAuth)
}

// checkService fails when the archive holds the meetings of another service.
func (app *application) checkService(ctx context.Context, cfg *config.Config) error {
	url := cfg.ServiceURL()
	if url == "" {
		return nil
	}
	recorded, err := app.archive.Mark(ctx, serviceMark)
	if err != nil {
		return err
	}
	hasMeetings, err := app.holdsMeetings(ctx)
	if err != nil {
		return err
	}
	if recorded != nil && string(recorded) != url && !app.opts.Moved && hasMeetings {
		return fmt.Errorf("use %s: this archive holds meetings of %s, and recording ids are unique only there; "+
			"give the other service a data_dir of its own, or, if the service itself has moved, stop the daemon, run `minutebook init --moved` with this configuration, and start it", url, recorded)
	}
	if string(recorded) == url {
		return nil
	}
	return app.archive.SetMarks(ctx, archive.Mark{Key: serviceMark, Value: []byte(url)})
}

// budget returns the call budget of an account. Two accounts with one API key
// share a budget, because the service counts calls by key.
func (app *application) budget(set *clientSet, a config.Account) *api.Budget {
	if b, ok := set.budgets[a.APIKey]; ok && a.APIKey != "" {
		return b
	}
	b := api.NewBudget(api.BudgetOptions{Connection: a.Name, Now: time.Now, Uptime: process.Uptime, Store: storeBudget(app.archive, a), Logger: app.log})
	if a.APIKey != "" {
		set.budgets[a.APIKey] = b
	}
	return b
}

// addClient makes the client of one account. Every caller of the account shares the
// client and its budget.
func (app *application) addClient(set *clientSet, a config.Account) error {
	budget := app.budget(set, a)
	credential := api.APIKey(a.APIKey)
	if a.APIKeyFile != "" {
		credential = api.APIKeyFromFile(a.APIKeyFile) // read again when it is refused
	}
	if a.OAuth != nil {
		oauth, err := app.newConnection(a)
		if err != nil {
			return err
		}
		set.connections[a.Name] = oauth
		credential = oauth
	}
	client, err := api.NewClient(api.ClientOptions{
		BaseURL: a.BaseURL, Credential: credential, Budget: budget,
		Now: time.Now, Logger: app.log, UserAgent: "minutebook/" + app.opts.Version,
	})
	set.clients[a.Name] = client
	return err
}

// redirectHandlers returns a handler for the redirect path of each OAuth app.
func (set *clientSet) redirectHandlers() map[string]http.Handler {
	byPath := map[string][]*api.OAuth{}
	for _, c := range set.connections {
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
func (app *application) newConnection(a config.Account) (*api.OAuth, error) {
	o := a.OAuth
	return api.NewOAuth(api.OAuthOptions{
		Account: a.Name, BaseURL: a.BaseURL,
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.RedirectURL,
		AuthorizeURL: o.AuthorizeURL, TokenURL: o.TokenURL,
		Store: tokenStore{app}, Budget: app.tokenBudget(a.BaseURL, o.TokenURL, o.ClientID), Now: time.Now, Logger: app.log,
	})
}

// tokenBudget returns the budget of an OAuth app's calls to the token endpoint: the service
// counts those of all accounts that connect through the app together (specification 8).
func (app *application) tokenBudget(baseURL, tokenURL, clientID string) *api.Budget {
	digest := digestCredential(cmp.Or(tokenURL, baseURL) + "\x00" + clientID)
	app.exchanging.Lock()
	defer app.exchanging.Unlock()
	if app.tokenBudgets[digest] == nil {
		if app.tokenBudgets == nil {
			app.tokenBudgets = map[string]*api.Budget{}
		}
		app.tokenBudgets[digest] = api.NewBudget(api.BudgetOptions{Connection: "app " + digest, Now: time.Now, Uptime: process.Uptime, Store: app.archive, Logger: app.log})
	}
	return app.tokenBudgets[digest]
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
