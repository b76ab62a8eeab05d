package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"minutebook/config"
	"minutebook/control"
	"minutebook/web"
	"minutebook/web/accounts"
)

// askedJob is a job that a person has asked for on the page.
type askedJob struct{ account, job string }

// askJob has a job run by [daemon.runAskedJobs]. It fails while many others wait.
func (d *daemon) askJob(account, job string) error {
	select {
	case d.asked <- askedJob{account, job}:
		return nil
	default:
		return fmt.Errorf("run %s of %s now: too many jobs wait", job, account)
	}
}

// runAskedJobs runs the jobs that people ask for on the page, until ctx ends. The sync
// records their failures.
func (d *daemon) runAskedJobs(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case asked := <-d.asked:
			running.Go(func() {
				if err := d.syncer.RunJob(ctx, asked.account, asked.job); err != nil && ctx.Err() == nil {
					d.log.Warn().Err(err).Str("account", asked.account).Str("job", asked.job).Msg("a job that was asked for on the page failed")
				}
			})
		}
	}
}

// newSetup returns how the page adds the first account: nil where the configuration is
// loaded only at the start.
func (d *daemon) newSetup(cfg *config.Config) *web.Setup {
	if d.reload == nil {
		return nil
	}
	return &web.Setup{
		Accounts: func() (names []string) {
			for _, a := range d.config().Accounts {
				names = append(names, a.Name)
			}
			return names
		},
		Add: d.addAccount, ReceiverURL: cfg.Receiver.PublicURL, TryWebhook: d.tryWebhook,
	}
}

// addAccount keeps an account in the data directory and loads the configuration again,
// which has it then. An account that the configuration refuses is not kept. Admins who add
// accounts at the same time wait for each other.
func (d *daemon) addAccount(ctx context.Context, name string, t accounts.Trial) error {
	d.adding.Lock()
	defer d.adding.Unlock()
	ctx = context.WithoutCancel(ctx)
	dir := d.config().DataDir
	if err := config.AddAccount(dir, config.Account{Name: name, BaseURL: t.BaseURL, Email: t.Email, APIKey: t.Key}); err != nil {
		return err
	}
	if _, err := d.reload(ctx); err != nil {
		return errors.Join(err, config.RemoveAccount(dir, name))
	}
	return nil
}

// tryWebhook makes a webhook of an account unless it has one, and sends a test delivery
// through the public address.
func (d *daemon) tryWebhook(ctx context.Context, account string) (milliseconds int64, err error) {
	request := control.WebhookRequest{Account: account}
	configured, err := d.findAccount(account)
	if err != nil {
		return 0, err
	}
	registered, err := d.archive.Inbox().Secrets(ctx, account)
	if err != nil {
		return 0, err
	}
	if len(registered) == 0 && len(configured.WebhookSecrets) == 0 {
		if _, err := control.Call[control.WebhookInfo](ctx, d.operations, "webhook.create", request, nil); err != nil {
			return 0, err
		}
	}
	tested, err := control.Call[control.WebhookTested](ctx, d.operations, "webhook.test", request, nil)
	return tested.Indexed, err
}
