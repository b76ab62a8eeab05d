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
		reached := err == nil || errors.As(err, &answer) && !isFailing(err) || api.IsUnusable(err)
		if i == 0 || err == nil {
			p = probed{BaseURL: candidate, Err: err, Reached: reached}
		}
		if err == nil || !reached || answer != nil && (answer.Status == http.StatusUnauthorized || answer.Status == http.StatusForbidden) {
			return p
		}
	}
	return p
}

// isFailing reports whether the service works at present for nobody (5xx).
func isFailing(err error) bool {
	var answer *api.Error
	return errors.As(err, &answer) && answer.Status >= http.StatusInternalServerError
}

// tryKey makes one cheap call.
func (m *Main) tryKey(ctx context.Context, baseURL, key string, budget *api.Budget) error {
	ctx, stop := context.WithTimeout(api.WithoutRepetition(api.WithPriority(ctx, api.PriorityPerson)), probeTime)
	defer stop()
	client, err := api.NewClient(api.ClientOptions{BaseURL: baseURL, Credential: api.APIKey(key), Budget: budget,
		HTTP: &http.Client{Transport: http.DefaultTransport}, Now: time.Now, Logger: zerolog.Nop(), UserAgent: "minutebook/" + m.Version})
	if err != nil {
		return err
	}
	switch err = client.Check(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("reach %s: no answer within %s", baseURL, probeTime)
	case isFailing(err):
		return fmt.Errorf("reach %s: %w", baseURL, err)
	}
	return err
}
