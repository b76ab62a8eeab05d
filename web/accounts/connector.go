package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"minutebook/api"
	"minutebook/internal/process"
	"minutebook/web/access"
)

// App is the OAuth app through which people connect their accounts.
type App struct {
	ClientID, ClientSecret string
	AuthorizeURL, TokenURL string // "": below the service's address
	RedirectURL            string // of the page, https
	// Budget is that of the token endpoint, which counts the calls for everybody who
	// connects through the app. nil: each connection has its own.
	Budget *api.Budget
}

// RedirectPath is the path of the page to which the service sends people back.
const RedirectPath = "/me/account/callback"

// Options describe the service whose accounts are connected. People and BaseURL are
// required.
type Options struct {
	People  *access.DB
	BaseURL string
	App     *App // nil: only API keys
	// IsConfigured reports whether an account of the configuration has an API key.
	IsConfigured func(key string) bool
	Budgets      api.BudgetStore // nil: a restart forgets the calls
	HTTP         *http.Client    // nil: the client's own
	Now          func() time.Time
	Logger       zerolog.Logger
	UserAgent    string
}

// Connector connects accounts and makes their clients. It is safe for concurrent use.
type Connector struct {
	o Options

	mu      sync.Mutex // guards the fields below
	clients map[int64]*api.Client
	budgets map[string]*api.Budget  // by the account's name
	tries   map[int64]*rate.Limiter // by person
}

// New checks the options. It sends nothing.
func New(o Options) (*Connector, error) {
	if _, err := api.ParseBaseURL(o.BaseURL); err != nil {
		return nil, fmt.Errorf("connect accounts: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Connector{o: o, clients: map[int64]*api.Client{}, budgets: map[string]*api.Budget{}, tries: map[int64]*rate.Limiter{}}
	if o.App != nil {
		if _, err := c.newOAuth(access.Account{Name: "app"}, &draft{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// HasApp reports whether accounts can be connected without an API key.
func (c *Connector) HasApp() bool { return c.o.App != nil }

// List returns all accounts that people have connected, parked ones too.
func (c *Connector) List(ctx context.Context) ([]access.Account, error) {
	return c.o.People.Accounts(ctx, c.o.BaseURL)
}

// Account returns the account of a person, or [access.ErrNoAccount].
func (c *Connector) Account(ctx context.Context, person int64) (access.Account, error) {
	return c.o.People.AccountOf(ctx, c.o.BaseURL, person)
}

// Client returns the client of an account: the same one as long as its connection is the
// same. It fails for an OAuth connection where the configuration names no app.
func (c *Connector) Client(a access.Account) (*api.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client := c.clients[a.ID]; client != nil {
		return client, nil
	}
	var credential api.Credential = &keyCredential{people: c.o.People, service: c.o.BaseURL, id: a.ID}
	if a.Kind == access.AccountOAuth {
		oauth, err := c.newOAuth(a, &stored{people: c.o.People, service: c.o.BaseURL, id: a.ID})
		if err != nil {
			return nil, err
		}
		credential = &judged{OAuth: oauth, people: c.o.People, service: c.o.BaseURL, id: a.ID}
	}
	client, err := c.newClient(credential, c.budget(a.Name))
	if err == nil {
		c.clients[a.ID] = client
	}
	return client, err
}

// budget returns the budget of an account. The caller has the lock.
func (c *Connector) budget(name string) *api.Budget {
	if c.budgets[name] == nil {
		c.budgets[name] = api.NewBudget(api.BudgetOptions{Connection: name, Store: c.o.Budgets, Now: c.o.Now, Uptime: process.Uptime, Logger: c.o.Logger})
	}
	return c.budgets[name]
}

func (c *Connector) newClient(credential api.Credential, budget *api.Budget) (*api.Client, error) {
	return api.NewClient(api.ClientOptions{BaseURL: c.o.BaseURL, Credential: credential, Budget: budget, HTTP: c.o.HTTP,
		Now: c.o.Now, Logger: c.o.Logger, UserAgent: c.o.UserAgent})
}

func (c *Connector) newOAuth(a access.Account, store api.TokenStore) (*api.OAuth, error) {
	if c.o.App == nil {
		return nil, errors.New("connect accounts: the configuration names no OAuth app any more: write [web.accounts.oauth], or connect the account by an API key")
	}
	return api.NewOAuth(api.OAuthOptions{Account: a.Name, BaseURL: c.o.BaseURL, ClientID: c.o.App.ClientID, ClientSecret: c.o.App.ClientSecret,
		RedirectURL: c.o.App.RedirectURL, AuthorizeURL: c.o.App.AuthorizeURL, TokenURL: c.o.App.TokenURL,
		Store: store, HTTP: c.o.HTTP, Budget: c.o.App.Budget, Now: c.o.Now, Logger: c.o.Logger, Remedy: Remedy})
}

// Remedy tells a person how to repair an account that the service refuses.
const Remedy = "connect it again on the page, under Account"
