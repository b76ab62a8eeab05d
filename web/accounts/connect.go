package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"minutebook/api"
	"minutebook/web/access"
)

// The reasons why an account is not connected. Their texts can be shown to the person.
var (
	ErrKey         = errors.New("this is no API key: copy the whole key from your settings at the service")
	ErrRefused     = errors.New("the service refuses it: make a new key in your settings there, and copy the whole of it")
	ErrNotAllowed  = errors.New("the service did not allow it: connect the account again, and allow it there")
	ErrTooOften    = errors.New("too many tries: wait a minute and try again")
	ErrUnreachable = errors.New("the service did not answer: try again in a while")
	ErrNoMeetings  = errors.New("this account shows no meeting that you recorded under an address that you have here: connect your own account, and record a first meeting where there is none")
	ErrOthers      = errors.New("most of the private meetings that this account shows were recorded by somebody else: connect your own account")
	ErrConfigured  = errors.New("this account is read already: it stands in the configuration")
)

const (
	tryTime = 45 * time.Second
	// A person can try so many times at once, and then once in a while.
	triesAtOnce = 6
	tryEvery    = time.Minute
	// sampledPages is how many pages of the newest meetings tell whose an account is.
	sampledPages = 5
	maxSecret    = 4096 // bytes of an API key
)

// ConnectKey tries an API key and keeps it as the account of a person. It fails with one
// of the errors above or of package access.
func (c *Connector) ConnectKey(ctx context.Context, p access.Person, key string) error {
	key = strings.TrimSpace(key)
	if !isKey(key) {
		return ErrKey
	}
	if c.o.IsConfigured != nil && c.o.IsConfigured(key) {
		return c.refuse(ctx, p, ErrConfigured)
	}
	if !c.mayTry(p.ID) {
		return ErrTooOften
	}
	return c.connect(ctx, p, access.AccountKey, api.APIKey(key), func() []byte { return []byte(key) })
}

// isKey reports whether a text can be an API key.
func isKey(text string) bool {
	return text != "" && len(text) <= maxSecret && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// AuthorizeURL returns the address at which a person lets the app read the account. The
// service sends them back to the app's redirect address with a code and the state. It fails
// where there is no app.
func (c *Connector) AuthorizeURL(state string) (string, error) {
	oauth, err := c.newOAuth(access.Account{Name: "app"}, &draft{})
	if err != nil {
		return "", err
	}
	return oauth.AuthorizeURL(state)
}

// ConnectCode exchanges the code in the query of a redirect, which answers the state, and
// keeps the connection as the account of a person. It fails as [Connector.ConnectKey] does,
// and where there is no app.
func (c *Connector) ConnectCode(ctx context.Context, p access.Person, query, state string) error {
	code, err := api.CodeFrom("?"+query, state)
	if err != nil {
		return c.refuse(ctx, p, fmt.Errorf("%w: %w", ErrNotAllowed, err))
	}
	if !c.mayTry(p.ID) {
		return ErrTooOften
	}
	tokens := &draft{}
	oauth, err := c.newOAuth(access.Account{Name: access.AccountName(p.ID)}, tokens)
	if err != nil {
		return err
	}
	exchanging, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	if err := oauth.Exchange(exchanging, code); err != nil {
		return c.explain(ctx, p, err, ErrNotAllowed)
	}
	return c.connect(ctx, p, access.AccountOAuth, oauth, func() []byte { return tokens.token })
}

// connect tries a credential and keeps the secret that it has afterwards.
func (c *Connector) connect(ctx context.Context, p access.Person, kind access.AccountKind, credential api.Credential, secret func() []byte) error {
	if !c.o.People.CanConnect() {
		return access.ErrNoAccountKey
	}
	c.mu.Lock()
	budget := c.budget(access.AccountName(p.ID)) // the trial's calls count for the account that is kept
	c.mu.Unlock()
	client, err := c.newClient(credential, budget)
	if err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(api.WithPriority(ctx, api.PriorityPerson), tryTime)
	defer cancel()
	address, err := findOwner(trying, client, p.Addresses)
	if err != nil {
		return c.explain(ctx, p, err, ErrRefused)
	}
	_, err = c.o.People.Connect(ctx, p.Actor(), access.Account{Person: p.ID, Address: address, BaseURL: c.o.BaseURL, Kind: kind}, secret())
	if errors.Is(err, access.ErrConnected) {
		return c.refuse(ctx, p, err)
	}
	return err
}

// mayTry counts a try of a person, each of which costs some calls at the service.
func (c *Connector) mayTry(person int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tries[person] == nil {
		c.tries[person] = rate.NewLimiter(rate.Every(tryEvery), triesAtOnce)
	}
	return c.tries[person].AllowN(c.o.Now(), 1)
}

// explain returns the reason of a failed trial for the person, and logs the error.
// refused is the reason where the service refuses the credential.
func (c *Connector) explain(ctx context.Context, p access.Person, err, refused error) error {
	switch {
	case errors.Is(err, ErrNoMeetings), errors.Is(err, ErrOthers):
		return c.refuse(ctx, p, err)
	case ctx.Err() != nil:
		return ctx.Err()
	case api.IsAccountRefused(err), api.NeedsReconnect(err), isRefusal(err):
		c.o.Logger.Warn().Int64("person", p.ID).Err(err).Msg("the service refuses the account that a person connects")
		return c.refuse(ctx, p, refused)
	}
	c.o.Logger.Warn().Int64("person", p.ID).Err(err).Msg("the account that a person connects could not be tried")
	return ErrUnreachable
}

// isRefusal reports whether the service has answered with an error of the caller.
func isRefusal(err error) bool {
	var answer *api.Error
	return errors.As(err, &answer) && answer.Status >= 400 && answer.Status < 500 && answer.Status != 429
}

// refuse records that an account was not connected, and returns the reason.
func (c *Connector) refuse(ctx context.Context, p access.Person, reason error) error {
	return errors.Join(reason, c.o.People.Record(ctx, access.Event{Actor: p.Actor(), Kind: access.AccountRefused, IDs: access.IDs{Person: p.ID}}))
}

// findOwner returns the person's address under which the service knows the owner of an
// account. The service does not name the owner, so the account's lists decide: they have
// to show a meeting that the person recorded, and nobody may have recorded more of the
// newest private meetings without the person among the invitees. An account sees private
// meetings of others only where they were shared with it alone.
func findOwner(ctx context.Context, client *api.Client, addresses []string) (string, error) {
	own, err := client.MeetingsPage(ctx, api.MeetingQuery{RecordedBy: addresses}, "")
	if err != nil {
		return "", err
	}
	address := ""
	for _, raw := range own.Items {
		var m api.Meeting
		if err := m.UnmarshalJSON(raw); err != nil {
			continue // a meeting that cannot be read proves nothing
		}
		if recorder := api.FoldEmail(m.RecordedBy.Email); address == "" && slices.Contains(addresses, recorder) {
			address = recorder
		}
	}
	if address == "" {
		return "", ErrNoMeetings
	}
	private, cursor := map[string]int{}, ""
	for range sampledPages {
		page, err := client.MeetingsPage(ctx, api.MeetingQuery{}, cursor)
		if err != nil {
			return "", err
		}
		for _, raw := range page.Items {
			countPrivate(private, raw, addresses)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	for recorder, n := range private {
		if recorder != "" && n > private[""] {
			return "", ErrOthers
		}
	}
	return address, nil
}

// countPrivate counts a private meeting by its recorder: "" for the person with the
// addresses. Others' meetings to which the person was invited do not count.
func countPrivate(private map[string]int, raw []byte, addresses []string) {
	var m api.Meeting
	if err := m.UnmarshalJSON(raw); err != nil || m.SharedWith != api.SharedNoTeams {
		return
	}
	recorder := api.FoldEmail(m.RecordedBy.Email)
	if slices.Contains(addresses, recorder) {
		private[""]++
		return
	}
	for _, invitee := range m.CalendarInvitees {
		if slices.Contains(addresses, api.FoldEmail(invitee.Email.Or(""))) {
			return
		}
	}
	private[recorder]++
}
