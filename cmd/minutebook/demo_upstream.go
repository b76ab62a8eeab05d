package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/httpserver"
	"minutebook/sample"
	"minutebook/service"
)

// demoPerson is the email address of the user whose account the demo's archive reads.
const demoPerson = "you@demo.example"

// The demo's service finishes a meeting every few seconds at first, so that
// one sees it happen, then, of the sample, every minute.
const (
	demoHold     = 8
	demoFast     = 4 * time.Second
	demoFastRuns = 6
	demoSlow     = time.Minute
)

// upstream is the demo's service: the sandbox on a loopback port of its own.
type upstream struct {
	archive  *archive.Archive
	service  *service.Service
	listener net.Listener
	key      string
	sample   bool // the sample is loaded, not a file
	log      zerolog.Logger
}

// openUpstream loads the meetings into a service and makes a key for the
// demo's person, with whom every meeting is shared.
func openUpstream(ctx context.Context, o demoOptions, log zerolog.Logger) (_ *upstream, err error) {
	u := &upstream{sample: o.meetings == "", log: log}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.Close())
		}
	}()
	if u.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("listen for the demo's service: %w", err)
	}
	u.archive, err = archive.Open(ctx, archive.Options{
		Dir: filepath.Join(o.dir, "upstream"), Create: true, Logger: log, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	u.service, err = service.New(ctx, service.Options{
		Archive: u.archive, Sandbox: true, PublicURL: "http://" + u.listener.Addr().String(),
		Generation: 2 * time.Second, AllowPrivate: true, Hold: demoHold, Now: time.Now, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	if err := u.load(ctx, o.meetings); err != nil {
		return nil, err
	}
	you := api.User{
		Name: api.Some("You"), Email: demoPerson, CreatedAt: api.TimeOf(time.Now()), Status: api.StatusActive,
		Permissions: api.Some(api.Permissions{
			SettingsAccess: api.Access{Level: api.SettingsNone, Teams: []string{}},
			ViewAccess:     api.Access{Level: api.ViewOwnMeetings, Teams: []string{}},
		}),
	}
	if err := u.service.PutUser(ctx, you); err != nil {
		return nil, fmt.Errorf("add the demo's person: %w", err)
	}
	if err := u.service.ShareAll(ctx, demoPerson); err != nil {
		return nil, fmt.Errorf("share the meetings with the demo's person: %w", err)
	}
	u.key, err = u.service.CreateKey(ctx, demoPerson)
	return u, err
}

// load reads the meetings from the file, or from the sample where none is named.
func (u *upstream) load(ctx context.Context, file string) error {
	var r io.Reader = sample.NDJSON(time.Now())
	name := "sample"
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("open meetings: %w", err)
		}
		defer f.Close()
		r, name = f, file
	}
	_, err := u.service.Load(ctx, r, name)
	return err
}

// baseURL is the service's address for clients.
func (u *upstream) baseURL() string {
	return "http://" + u.listener.Addr().String() + "/external/v1"
}

// Run serves and finishes meetings until ctx ends.
func (u *upstream) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, u.listener, u.service.Handler(), httpserver.Times{}, u.log) })
	g.Go(func() error { return u.service.Run(ctx) })
	return g.Wait()
}

// finishMeetings finishes the held meetings one by one. It is called after the
// archive has registered its webhook.
func (u *upstream) finishMeetings(ctx context.Context) error {
	for n := 0; ; n++ {
		pause := demoFast
		if n >= demoFastRuns && u.sample {
			pause = demoSlow
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		_, more, err := u.service.Finish(ctx)
		if err != nil {
			return fmt.Errorf("finish a meeting of the demo: %w", err)
		}
		if !more {
			return nil
		}
	}
}

// Close closes the listener and the archive.
func (u *upstream) Close() error {
	if u.listener != nil {
		u.listener.Close()
	}
	if u.archive == nil {
		return nil
	}
	return u.archive.Close()
}

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
