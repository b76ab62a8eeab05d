package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"minutebook/internal/rawjson"
)

// Validate fails on a request that the service would refuse.
func (r WebhookRequest) Validate() error {
	switch {
	case r.DestinationURL == "":
		return errors.New("create a webhook: destination_url is missing")
	case len(r.TriggeredFor) == 0:
		return errors.New("create a webhook: triggered_for names no scope, such as " + TriggerMyRecordings)
	case !r.IncludeTranscript && !r.IncludeCRMMatches && !r.IncludeSummary && !r.IncludeActionItems:
		return errors.New("create a webhook: include transcript, crm_matches, summary or action_items")
	}
	return nil
}

// CreateWebhook registers a webhook (specification 4.10). The secret in the
// answer is never shown again, nor is the ID listed anywhere: keep both. A call
// that breaks off is not repeated, since it may have made a webhook whose ID is lost;
// [ErrNotSent] reports that it has not. A service that refuses include_highlights
// gets the request without it.
func (c *Client) CreateWebhook(ctx context.Context, r WebhookRequest) (*Webhook, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	w, err := c.createWebhook(ctx, r)
	if statusOf(err) == http.StatusBadRequest && r.IncludeHighlights {
		r.IncludeHighlights = false
		return c.createWebhook(ctx, r)
	}
	return w, err
}

func (c *Client) createWebhook(ctx context.Context, r WebhookRequest) (*Webhook, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cl := &call{method: http.MethodPost, path: "/webhooks", body: body, classes: []Class{ClassGlobal}, once: true}
	a, err := c.do(ctx, cl)
	if err != nil {
		if !cl.sent || isUnsent(err) {
			err = fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return nil, err
	}
	w := new(Webhook)
	if err = decodeLenient(a.body, w); err == nil && w.ID == "" {
		if id := rawjson.Find(a.body, "id"); id != nil {
			w.ID = textIn(id) // a number, where it is no string
		}
	}
	if err != nil || w.ID == "" {
		return nil, &brokenError{method: cl.method, path: cl.path, cause: fmt.Errorf("%w: it has no id", errUnusable)}
	}
	return w, nil
}

// DeleteWebhook removes a webhook (specification 4.11). Where a first attempt
// broke off and the repetition finds nothing, it has been removed.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	if id == "" {
		return errors.New("delete a webhook: no id")
	}
	cl := &call{method: http.MethodDelete, path: "/webhooks/" + url.PathEscape(id), classes: []Class{ClassGlobal}}
	_, err := c.do(ctx, cl)
	if IsNotFound(err) && cl.uncertain {
		return nil
	}
	return err
}
