package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"minutebook/archive/inbox"
	syncer "minutebook/sync"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// Setup adds the archive's first account from the page.
type Setup struct {
	// Accounts returns the names of the accounts of the configuration.
	Accounts func() []string
	// Add keeps an account that was tried under a name of its own in the configuration,
	// and reads it from now on. Its error is for an admin.
	Add func(ctx context.Context, name string, t accounts.Trial) error
	// ReceiverURL is the public address of the receiver, "" where it has none.
	ReceiverURL string
	// TryWebhook makes a webhook of an account unless it has one, and sends a signed
	// delivery to the public address. It returns how long that took until a search found
	// it, in milliseconds. Its error is for an admin.
	TryWebhook func(ctx context.Context, account string) (milliseconds int64, err error)
}

// firstAccount is the name of the account that the page adds.
const firstAccount = "main"

// setupPage leads through the first run.
type setupPage struct {
	frame
	Name     string // of the account; "" until there is one
	State    *syncer.AccountStatus
	Found    int    // meetings that are kept
	Address  string // as it was typed in
	Email    string // of the account's owner, as it was typed in
	Notice   string // why the account was not added
	Receiver string // the public address of the receiver
	Listens  bool   // a webhook exists
	Took     int64  // how long the test delivery took; 0: none was sent
	Trouble  string // why it did not arrive
}

// Done reports whether the account is read to the end, and listens where it can.
func (p *setupPage) Done() bool {
	return p.State != nil && p.State.Backfilled && (p.Listens || p.Receiver == "")
}

// Milliseconds returns Took for the page.
func (p *setupPage) Milliseconds() int { return int(p.Took) }

// needsSetup reports whether the visitor is the one to add the first account.
func (s *server) needsSetup(ctx context.Context) bool {
	return s.Setup != nil && visitorOf(ctx).Admin && len(s.Setup.Accounts()) == 0
}

// showSetup answers /setup.
func (s *server) showSetup(w http.ResponseWriter, r *http.Request) error {
	p := &setupPage{}
	if person := visitorOf(r.Context()).Person; person != nil {
		p.Email = person.Address()
	}
	return s.renderSetup(w, r, http.StatusOK, p)
}

// renderSetup renders the page with the words that p has.
func (s *server) renderSetup(w http.ResponseWriter, r *http.Request, status int, p *setupPage) error {
	ctx := r.Context()
	if s.Setup == nil {
		return s.notFound(w, r)
	}
	p.frame, p.Receiver = s.newFrame(r, "setup", "First run"), s.Setup.ReceiverURL
	names := s.Setup.Accounts()
	if len(names) == 0 {
		return s.render(w, status, "setup", p)
	}
	p.Name = names[0]
	counts, err := s.Archive.CountsFor(ctx, viewerOf(ctx))
	if err != nil {
		return err
	}
	p.Found = counts.Meetings
	state, err := s.visibleState(ctx, false)
	if err != nil {
		return err
	}
	if state != nil {
		for i := range state.Accounts {
			if state.Accounts[i].Name == p.Name {
				p.State = &state.Accounts[i]
			}
		}
	}
	webhooks, err := s.Archive.Inbox().Registrations(ctx, p.Name)
	if err != nil {
		return err
	}
	for _, g := range webhooks {
		p.Listens = p.Listens || g.State == inbox.RegistrationActive
	}
	return s.render(w, status, "setup", p)
}

// addAccount tries the account in the form and keeps it.
func (s *server) addAccount(w http.ResponseWriter, r *http.Request) error {
	if s.Setup == nil {
		return s.notFound(w, r)
	}
	hasOne := &failure{http.StatusConflict, "This archive has an account. Further ones are written under [[accounts]] in the configuration."}
	if !s.needsSetup(r.Context()) {
		return hasOne
	}
	p := &setupPage{Address: r.PostForm.Get("address"), Email: r.PostForm.Get("email")}
	trial, err := accounts.NewTrial(p.Address, r.PostForm.Get("key"))
	if err == nil {
		trial.Email, trial.Logger, trial.UserAgent = strings.TrimSpace(p.Email), s.Logger, "minutebook/"+s.Version
		err = trial.Try(r.Context())
	}
	if err == nil {
		err = s.recordChange(r.Context(), access.AccountAdded, access.IDs{Account: firstAccount})
	}
	if err == nil {
		err = s.Setup.Add(r.Context(), firstAccount, trial)
	}
	switch {
	case err == nil:
		return s.seeOther(w, r, "/setup")
	case r.Context().Err() != nil:
		return err
	case !s.needsSetup(r.Context()): // another admin was faster
		return hasOne
	}
	status := http.StatusUnprocessableEntity
	if errors.Is(err, accounts.ErrUnreachable) {
		status = http.StatusBadGateway
	}
	p.Notice = sentence(err)
	return s.renderSetup(w, r, status, p)
}

// tryWebhook makes a webhook and sends a delivery through the public address.
func (s *server) tryWebhook(w http.ResponseWriter, r *http.Request) error {
	if s.Setup == nil || len(s.Setup.Accounts()) == 0 || s.Setup.ReceiverURL == "" {
		return s.notFound(w, r)
	}
	account := s.Setup.Accounts()[0]
	if err := s.recordChange(r.Context(), access.WebhookTried, access.IDs{Account: account}); err != nil {
		return err
	}
	p, status := &setupPage{}, http.StatusOK
	took, err := s.Setup.TryWebhook(r.Context(), account)
	if p.Took = max(took, 1); err != nil {
		if r.Context().Err() != nil {
			return err
		}
		p.Took, p.Trouble, status = 0, sentence(err), http.StatusBadGateway
	}
	return s.renderSetup(w, r, status, p)
}
