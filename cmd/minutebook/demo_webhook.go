package main

import (
	"context"
	"encoding/json"
	"fmt"

	"minutebook/api"
)

// renewWebhook registers the demo's webhook. Deliveries come in at another port
// at every start, so one of an earlier start is deleted first.
func (d *daemon) renewWebhook(ctx context.Context) error {
	inbox, account := d.archive.Inbox(), d.config().Accounts[0]
	client, err := d.clientFor(ctx, account.Name)
	if err != nil {
		return err
	}
	old, err := inbox.Registrations(ctx, account.Name)
	if err != nil {
		return err
	}
	for _, r := range old {
		if r.ID == "" {
			continue
		}
		if err := client.DeleteWebhook(ctx, r.ID); err != nil && !api.IsNotFound(err) {
			return fmt.Errorf("delete the demo's earlier webhook: %w", err)
		}
		if err := inbox.RemoveRegistration(ctx, account.Name, r.ID); err != nil {
			return err
		}
	}
	return d.createWebhook(ctx, client, account.Name)
}

func (d *daemon) createWebhook(ctx context.Context, client *api.Client, account string) error {
	inbox := d.archive.Inbox()
	request := api.WebhookRequest{
		DestinationURL: d.config().Receiver.PublicURL + "/webhooks/" + account,
		TriggeredFor: []string{
			api.TriggerMyRecordings, api.TriggerSharedExternal,
			api.TriggerMySharedWithTeam, api.TriggerSharedTeam,
		},
		IncludeTranscript: true, IncludeSummary: true, IncludeActionItems: true,
		IncludeHighlights: true, IncludeCRMMatches: true,
	}
	asked, err := json.Marshal(request)
	if err != nil {
		return err
	}
	intent, err := inbox.PutIntent(ctx, account, request.DestinationURL, string(asked))
	if err != nil {
		return err
	}
	webhook, err := client.CreateWebhook(ctx, request)
	if err != nil {
		return fmt.Errorf("register the demo's webhook: %w", err)
	}
	if err := inbox.PutRegistration(ctx, intent, webhook.ID, webhook.Secret); err != nil {
		return err
	}
	return d.receiver.Refresh(ctx)
}
