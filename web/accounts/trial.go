package accounts

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
)

// ErrAddress means that a text is no address of a service.
var ErrAddress = errors.New("this is no address of the service: it begins with https:// and ends in /external/v1")

// Trial is an account that is tried before it becomes one of the configuration.
type Trial struct {
	BaseURL, Key string
	Email        string       // of the account's owner; "" where nobody has said it
	HTTP         *http.Client // nil: the client's own
	Logger       zerolog.Logger
	UserAgent    string
}

// NewTrial reads the address and the key that a person typed in. It fails with
// [ErrAddress] or [ErrKey].
func NewTrial(address, key string) (Trial, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return Trial{}, ErrAddress
	}
	u.RawQuery, u.Fragment = "", ""
	if u.Path = strings.TrimRight(u.Path, "/"); u.Path == "" {
		u.Path = "/external/v1"
	}
	t := Trial{BaseURL: u.String(), Key: strings.TrimSpace(key)}
	if _, err := api.ParseBaseURL(t.BaseURL); err != nil {
		return Trial{}, ErrAddress
	}
	if !isKey(t.Key) {
		return Trial{}, ErrKey
	}
	return t, nil
}

// Try makes one call. It fails with [ErrRefused], [ErrUnreachable], or the error of ctx.
func (t Trial) Try(ctx context.Context) error {
	budget := api.NewBudget(api.BudgetOptions{Connection: "trial", Now: time.Now, Logger: t.Logger})
	client, err := api.NewClient(api.ClientOptions{BaseURL: t.BaseURL, Credential: api.APIKey(t.Key), Budget: budget,
		HTTP: t.HTTP, Now: time.Now, Logger: t.Logger, UserAgent: t.UserAgent})
	if err != nil {
		return err
	}
	trying, cancel := context.WithTimeout(api.WithPriority(ctx, api.PriorityPerson), tryTime)
	defer cancel()
	err = client.Check(trying)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case api.IsAccountRefused(err), isRefusal(err):
		return ErrRefused
	}
	t.Logger.Warn().Err(err).Msg("the account could not be tried")
	return ErrUnreachable
}
