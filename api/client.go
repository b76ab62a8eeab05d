package api

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// ClientOptions configure a [Client]. BaseURL and Credential are required.
type ClientOptions struct {
	BaseURL    string // with the version prefix, such as https://host/external/v1
	Credential Credential
	// HTTP sends the calls. Its Jar and CheckRedirect are not used, since a redirect
	// would send the key elsewhere. nil: a client of its own.
	HTTP *http.Client
	// Budget is the connection's budget, shared with its other users. nil: a new
	// one that is not stored.
	Budget    *Budget
	Now       func() time.Time // nil: time.Now
	Rand      func() float64   // in [0, 1), safe for concurrent use; nil: math/rand
	Logger    zerolog.Logger
	UserAgent string
	Timeout   time.Duration // of one attempt, waiting for the budget excluded; 0: two minutes
}

// Client calls the service. Every method waits for the connection's budget, is
// served by the priority of its context ([WithPriority]), repeats calls that may
// succeed when repeated, and ends when its context ends. Errors that are answers of
// the service are *[Error]. It is safe for concurrent use.
type Client struct {
	base      *url.URL
	cred      Credential
	http      *http.Client
	budget    *Budget
	now       func() time.Time
	random    func() float64
	log       zerolog.Logger
	userAgent string
	timeout   time.Duration
	repeated  atomic.Pointer[error] // the error of the repeated call; nil while calls succeed
}

const defaultTimeout = 2 * time.Minute

// NewClient checks the options and makes a client. It sends nothing.
func NewClient(o ClientOptions) (*Client, error) {
	base, err := ParseBaseURL(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Credential == nil {
		return nil, errors.New("make a client: no credential: set api_key, api_key_file or oauth")
	}
	c := &Client{base: base, cred: o.Credential, budget: o.Budget, now: o.Now, random: o.Rand,
		log: o.Logger, userAgent: o.UserAgent, timeout: o.Timeout, http: plainHTTP(o.HTTP)}
	if c.now == nil {
		c.now = time.Now
	}
	if c.random == nil {
		c.random = rand.Float64
	}
	if c.budget == nil {
		c.budget = NewBudget(BudgetOptions{Now: c.now, Rand: c.random, Logger: c.log})
	}
	if c.userAgent == "" {
		c.userAgent = "minutebook"
	}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	return c, nil
}

// ParseBaseURL checks the base address of a service.
func ParseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(s), "/"))
	switch {
	case err != nil && strings.Contains(s, "://"):
		return nil, fmt.Errorf("read base_url: %w", errors.Unwrap(err))
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("read base_url: want an address such as https://host/external/v1")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("read base_url: want no user, query or fragment in it")
	}
	return u, nil
}

// plainHTTP copies a client without its cookies, and without following
// redirects.
func plainHTTP(h *http.Client) *http.Client {
	if h == nil {
		h = &http.Client{}
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			t = t.Clone()
			t.MaxIdleConnsPerHost = nominalLimit(ClassHeavy) // as many as are ever busy at once
			t.MaxResponseHeaderBytes = 1 << 20
			h.Transport = t
		}
	}
	c := *h
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Budget returns the budget that the client's calls count against.
func (c *Client) Budget() *Budget { return c.budget }

// budgets returns the client's budget, and after it that of the token endpoint of an OAuth app.
func (c *Client) budgets() []*Budget {
	if a, ok := c.cred.(*OAuth); ok {
		return []*Budget{c.budget, a.client.budget}
	}
	return []*Budget{c.budget}
}

// Usage returns how much of each class is used, also by an earlier process. The class of the token
// endpoint is that of the OAuth app, whose accounts share it.
func (c *Client) Usage(ctx context.Context) (all []Usage, err error) {
	for i, b := range c.budgets() {
		if err := b.Load(ctx); err != nil {
			return nil, err
		}
		for at, u := range b.Snapshot() {
			if i == 0 {
				all = append(all, u)
			} else if u.Class == ClassToken {
				all[at] = u
			}
		}
	}
	return all, nil
}

// Resume is [Budget.Resume] for all calls that the client needs.
func (c *Client) Resume(ctx context.Context) error {
	for _, b := range c.budgets() {
		if err := b.Resume(ctx); err != nil {
			return err
		}
	}
	return nil
}

// InlineContent reports whether the list may include transcripts and summaries
// with this client's credential.
func (c *Client) InlineContent() bool { return c.cred.InlineContent() }

// Check makes one cheap call. It fails unless the service answers and accepts the
// credential.
func (c *Client) Check(ctx context.Context) error {
	_, err := c.MeetingTypesPage(ctx, "")
	return err
}

// Repeated returns the error of a call that is being repeated, or nil after a
// success, to be shown to a waiting person.
func (c *Client) Repeated() error {
	if err := c.repeated.Load(); err != nil {
		return *err
	}
	return nil
}
