package web

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"minutebook/web/access"
	"minutebook/web/accounts"
)

// ownAccount is the part of a person's page about their account at the service.
type ownAccount struct {
	Offered   bool   // whether it can be connected here
	App       bool   // whether it can be connected without a key
	Missing   string // for an admin: the setting that would offer it
	Account   *access.Account
	Suspended string // why the service refuses it
}

// newOwnAccount returns the part of the page about the account of the visitor.
func (s *server) newOwnAccount(ctx context.Context) (o ownAccount, err error) {
	v := visitorOf(ctx)
	switch {
	case s.Accounts == nil:
		o.Missing = `base_url = "https://service.example/external/v1"`
	case !s.Entry.People.CanConnect():
		o.Missing = `key_file = "accounts.key"`
	default:
		o.Offered, o.App = true, s.Accounts.HasApp()
	}
	if !v.Person.Admin {
		o.Missing = ""
	}
	if o.Account, err = s.ownAccountOf(ctx, v.Person.ID); err != nil || o.Account == nil {
		return o, err
	}
	state, err := s.visibleState(ctx, false)
	if err != nil || state == nil {
		return o, err
	}
	for _, known := range state.Accounts {
		if known.Name == o.Account.Name {
			o.Suspended = known.Suspended
		}
	}
	return o, nil
}

// ownAccountOf returns the account that a person has connected, nil without one.
func (s *server) ownAccountOf(ctx context.Context, person int64) (*access.Account, error) {
	if s.Accounts == nil {
		return nil, nil
	}
	a, err := s.Accounts.Account(ctx, person)
	if errors.Is(err, access.ErrNoAccount) {
		return nil, nil
	}
	return &a, err
}

// connectionPath is the address of the link that leads to the service.
const connectionPath = "/me/account/app"

// accountRoutes returns the routes for connecting one's own account. The one that leads
// to the service is a link, since browsers apply form-action to redirects too.
func (s *server) accountRoutes() []route {
	return []route{
		{"POST /me/account/key", s.page(form(s.connectKey))},
		{"POST /me/account/end", s.page(form(s.disconnect))},
		{"GET " + connectionPath, s.page(s.beginConnection)},
		{"GET " + accounts.RedirectPath, s.page(s.finishConnection)},
	}
}

// connectKey tries the API key in the form and keeps it.
func (s *server) connectKey(w http.ResponseWriter, r *http.Request) error {
	if s.Accounts == nil {
		return s.notFound(w, r)
	}
	return s.showConnected(w, r, s.Accounts.ConnectKey(r.Context(), *visitorOf(r.Context()).Person, r.PostForm.Get("key")))
}

// showConnected answers with the person's page after a try to connect an account.
func (s *server) showConnected(w http.ResponseWriter, r *http.Request, err error) error {
	if err == nil {
		return s.renderMe(w, r, http.StatusOK, &mePage{Done: "Your account is connected. Its meetings arrive in a while."})
	}
	for _, reason := range []error{accounts.ErrKey, accounts.ErrRefused, accounts.ErrNoMeetings, accounts.ErrOthers, accounts.ErrConfigured,
		accounts.ErrNotAllowed, accounts.ErrTooOften, accounts.ErrUnreachable, access.ErrConnected, access.ErrNotYours, access.ErrNoAccountKey} {
		if errors.Is(err, reason) {
			status := http.StatusUnprocessableEntity
			switch reason {
			case accounts.ErrUnreachable:
				status = http.StatusBadGateway
			case accounts.ErrTooOften:
				status = http.StatusTooManyRequests
			}
			return s.renderMe(w, r, status, &mePage{Notice: sentence(reason)})
		}
	}
	return err
}

// disconnect ends the visitor's account.
func (s *server) disconnect(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r.Context())
	err := s.Entry.People.Disconnect(r.Context(), v.Person.Actor(), v.Person.ID)
	if err != nil && !errors.Is(err, access.ErrNoAccount) {
		return err
	}
	return s.seeOther(w, r, "/me")
}

// beginConnection leads the browser to the service, where the person lets the app read
// their account.
func (s *server) beginConnection(w http.ResponseWriter, r *http.Request) error {
	if s.Accounts == nil || !s.Accounts.HasApp() || !s.Entry.People.CanConnect() {
		return s.notFound(w, r)
	}
	state := randomText()
	address, err := s.Accounts.AuthorizeURL(state)
	if err != nil {
		return err
	}
	s.SignIns.connections.begin(s.Now(), newConnection(r.Context(), state))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// finishConnection answers the redirect of the service. The state has to be one that the
// same session has begun.
func (s *server) finishConnection(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the code
	state := r.URL.Query().Get("state")
	if s.Accounts == nil || !s.SignIns.connections.take(s.Now(), newConnection(r.Context(), state)) {
		return s.renderMe(w, r, http.StatusUnprocessableEntity,
			&mePage{Notice: "This connection was not begun here, or took too long: connect the account again."})
	}
	return s.showConnected(w, r, s.Accounts.ConnectCode(r.Context(), *visitorOf(r.Context()).Person, r.URL.RawQuery, state))
}

const (
	connectionWait = 30 * time.Minute
	maxConnections = 8 // under way at a time, for each person
)

// connection is a connection of an account that is under way: of a person, in a session.
type connection struct {
	state           string
	person, session int64 // session is 0 where a proxy signs people in
	until           time.Time
}

func newConnection(ctx context.Context, state string) connection {
	v := visitorOf(ctx)
	c := connection{state: state, person: v.Person.ID}
	if v.Session != nil {
		c.session = v.Session.ID
	}
	return c
}

// connections are those under way. It is safe for concurrent use.
type connections struct {
	mu   sync.Mutex // guards open
	open []connection
}

// begin adds a connection; the person's oldest one goes where there are too many.
func (c *connections) begin(now time.Time, begun connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun.until = now.Add(connectionWait)
	own, oldest := 0, -1
	for i, other := range c.open {
		if other.person == begun.person {
			if own++; oldest < 0 {
				oldest = i
			}
		}
	}
	if own >= maxConnections {
		c.open = slices.Delete(c.open, oldest, oldest+1)
	}
	c.open = append(c.open, begun)
}

// take ends a connection and reports whether it was begun by the same session in time.
func (c *connections) take(now time.Time, answered connection) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(begun connection) bool {
		isSame := subtle.ConstantTimeCompare([]byte(begun.state), []byte(answered.state)) == 1 && strings.TrimSpace(begun.state) != ""
		if isSame && begun.person == answered.person && begun.session == answered.session {
			ok = now.Before(begun.until)
			return true
		}
		return !now.Before(begun.until)
	})
	return ok
}
