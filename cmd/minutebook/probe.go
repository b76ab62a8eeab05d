package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
)

// probeTime is how long the service may take for its answer to a new account.
const probeTime = 15 * time.Second

// servicePath ends the address of every service.
const servicePath = "/external/v1"

// probed says how a service answers to a key.
type probed struct {
	BaseURL string // where it answers, which may be below the address that was given
	Err     error  // nil: it takes the key
	Reached bool   // it has answered
}

// errFailing is the answer of a service that works at present for nobody (5xx).
var errFailing = errors.New("it answers")

// firstError ends a call at its first failure to connect, or of the service, so that a
// person does not wait for the repetitions.
type firstError struct {
	inner  http.RoundTripper
	cancel context.CancelCauseFunc
}

// RoundTrip implements [http.RoundTripper].
func (f firstError) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.inner.RoundTrip(r)
	if err != nil {
		f.cancel(err)
	} else if resp.StatusCode >= http.StatusInternalServerError {
		f.cancel(fmt.Errorf("%w %s", errFailing, resp.Status))
	}
	return resp, err
}

// probeService tries an API key at an address, and, where the address does not end as
// that of a service, below it first.
func (m *Main) probeService(ctx context.Context, address, key string, budget *api.Budget) (p probed) {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	candidates := []string{address}
	if !strings.HasSuffix(address, servicePath) {
		candidates = []string{address + servicePath, address}
	}
	for i, candidate := range candidates {
		err := m.tryKey(ctx, candidate, key, budget)
		var answer *api.Error
		reached := err == nil || errors.As(err, &answer) || api.IsUnusable(err)
		if i == 0 || err == nil {
			p = probed{BaseURL: candidate, Err: err, Reached: reached}
		}
		if err == nil || !reached || answer != nil && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
			return p
		}
	}
	return p
}

// tryKey makes one cheap call.
func (m *Main) tryKey(ctx context.Context, baseURL, key string, budget *api.Budget) error {
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	client, err := api.NewClient(api.ClientOptions{BaseURL: baseURL, Credential: api.APIKey(key), Budget: budget,
		HTTP: &http.Client{Transport: firstError{http.DefaultTransport, cancel}}, Now: time.Now, Logger: zerolog.Nop(), UserAgent: "minutebook/" + m.Version})
	if err != nil {
		return err
	}
	err = client.Check(api.WithPriority(ctx, api.PriorityPerson))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			cause = fmt.Errorf("no answer within %s", probeTime)
		}
		return fmt.Errorf("reach %s: %w", baseURL, cause)
	}
	return err
}
