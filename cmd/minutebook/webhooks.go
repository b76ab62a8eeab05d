package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/config"
	"minutebook/control"
)

// webhooks is what the operations on webhooks work with here.
func (h *house) webhooks() control.Webhooks {
	w := control.Webhooks{
		Archive: h.archive, PublicURL: h.cfg.Receiver.PublicURL, Refresh: h.refresh, Index: h.Index, Now: time.Now,
		Client: h.clientOf,
		Configured: func(account string) []string {
			a, err := h.accountNamed(account)
			if err != nil {
				return nil
			}
			return a.WebhookSecrets
		},
	}
	for _, a := range h.cfg.Accounts {
		w.Accounts = append(w.Accounts, a.Name)
	}
	return w
}

// clientOf is an account's client, the one that the syncer uses: calls of another
// one would not count against the same budget.
func (h *house) clientOf(ctx context.Context, account string) (*api.Client, error) {
	if _, err := h.accountNamed(account); err != nil {
		return nil, err
	}
	if _, err := h.Syncer(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clients[account], nil
}

func (h *house) accountNamed(name string) (*config.Account, error) {
	var names []string
	for n, a := range h.cfg.Accounts {
		if a.Name == name {
			return &h.cfg.Accounts[n], nil
		}
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("find account %q: the configuration has no [[accounts]]; name its file with -c FILE", name)
	}
	return nil, fmt.Errorf("find account %q: the configuration has only %s", name, strings.Join(names, ", "))
}
