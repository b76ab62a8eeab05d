package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"minutebook/api"
	"minutebook/archive/inbox"
)

// WebhookStep is an event of rotate and test: the step just completed.
type WebhookStep struct {
	Step string `json:"step"`
}

// rotate replaces an account's webhooks by a new one with a new secret. It creates
// the new one, tests it with a delivery to the public address, and deletes the old
// ones. Until then deliveries of both are accepted. It can be repeated after a
// crash at any step.
func (w Webhooks) rotate(ctx context.Context, q WebhookRequest, emit Emit) (*WebhookInfo, error) {
	if err := w.checkAccount(q.Account); err != nil {
		return nil, fmt.Errorf("rotate webhook: %w", err)
	}
	if err := w.checkReceiver("rotate webhook"); err != nil {
		return nil, err
	}
	old, request, err := w.planRotation(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	_ = emit(WebhookStep{"asking the service for a new webhook, within its limits"})
	created, err := w.register(ctx, q.Account, request)
	if err != nil {
		return nil, err
	}
	_ = emit(WebhookStep{"created " + created.ID})
	if _, err := w.deliver(ctx, q.Account, created.Secret, emit); err != nil {
		err = fmt.Errorf("rotate webhook: the new one does not work, the old one stays: %w", err)
		return nil, errors.Join(err, w.unregister(ctx, *created))
	}
	for _, g := range old {
		if err := w.unregister(ctx, g); err != nil {
			return nil, err
		}
		_ = emit(WebhookStep{"deleted " + g.ID})
	}
	info := webhookInfo(*created)
	return &info, nil
}

// planRotation returns the webhooks to be replaced and the request for the new one, which
// asks at the present public address for everything that those in use asked for.
func (w Webhooks) planRotation(ctx context.Context, account string) (old []inbox.Registration, request api.WebhookRequest, err error) {
	if request, err = w.newRequest(WebhookRequest{Account: account}); err != nil {
		return nil, request, err
	}
	all, err := w.Archive.Inbox().Registrations(ctx, account)
	if err != nil {
		return nil, request, err
	}
	inUse := false
	union := api.WebhookRequest{DestinationURL: request.DestinationURL}
	for _, g := range all {
		if g.State == inbox.RegistrationIntent {
			continue
		}
		old = append(old, g)
		if g.State == inbox.RegistrationActive {
			inUse = true
			addAsked(&union, g.Request)
		}
	}
	if !inUse {
		return nil, request, fmt.Errorf("rotate webhook: account %s has none in use: minutebook webhook create %s", account, account)
	}
	if union.Validate() == nil { // else their requests are not known
		request = union
	}
	return old, request, nil
}

// addAsked adds the triggers and parts of a stored request to another one.
func addAsked(to *api.WebhookRequest, stored string) {
	var asked api.WebhookRequest
	if json.Unmarshal([]byte(stored), &asked) != nil || asked.Validate() != nil {
		return
	}
	for _, trigger := range asked.TriggeredFor {
		if !slices.Contains(to.TriggeredFor, trigger) {
			to.TriggeredFor = append(to.TriggeredFor, trigger)
		}
	}
	flags := includeFlags(to)
	for name, flag := range includeFlags(&asked) {
		*flags[name] = *flags[name] || *flag
	}
}

// checkReceiver fails where no delivery can come in: the configuration has no receiver, or
// no daemon runs.
func (w Webhooks) checkReceiver(action string) error {
	switch {
	case w.PublicURL == "":
		return errors.New(action + ": receiver.public_url is not set; the service must know where to deliver to")
	case w.Refresh == nil:
		return errors.New(action + ": no daemon runs here that would receive the delivery; start it: minutebook serve")
	}
	return nil
}
