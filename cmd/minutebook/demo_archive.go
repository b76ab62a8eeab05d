package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/config"
	syncer "minutebook/sync"
)

// demoAccount is the name of the demo's account.
const demoAccount = "demo"

// demoArchive runs the daemon against the demo's service until ctx ends.
func (m *Main) demoArchive(ctx context.Context, o demoOptions, up *upstream, log zerolog.Logger) (err error) {
	inbound, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the demo's deliveries: %w", err)
	}
	cfg, err := demoConfig(ctx, o, up)
	if err != nil {
		return errors.Join(err, inbound.Close())
	}
	cfg.Receiver.Listen = inbound.Addr().String()
	cfg.Receiver.PublicURL = "http://" + cfg.Receiver.Listen
	d, err := startDaemon(ctx, cfg, log, appOptions{Version: m.Version, Create: true, Moved: true, Receiver: inbound})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if _, err := fmt.Fprintf(m.Stdout, "http://%s\n", d.webListener.Addr()); err != nil {
		return err
	}
	fmt.Fprintf(m.Stderr, "The page is at the address above; Ctrl-C ends the demo. Its data: %s\n", o.dir)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error {
		if err := d.renewWebhook(ctx); err != nil {
			return err
		}
		if err := up.finishMeetings(ctx); err != nil {
			return err
		}
		return d.walkAgain(ctx)
	})
	return g.Wait()
}

// walkAgain walks over the whole history after all meetings are finished: a
// meeting without a summary fires no webhook, and only a full walk lists one that
// is older than the last catch-up. A real archive does so every night.
//
// The first of the two runs may only complete the backfill; the second one walks.
func (d *daemon) walkAgain(ctx context.Context) error {
	for range 2 {
		err := d.syncer.Sync(ctx, syncer.Request{}, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.log.Warn().Err(err).Msg("walk over the demo's meetings")
		}
	}
	return nil
}

// demoConfig is the configuration that a person would write for this service.
func demoConfig(ctx context.Context, o demoOptions, up *upstream) (*config.Config, error) {
	outside, err := up.service.OutsideRecorders(ctx)
	if err != nil {
		return nil, fmt.Errorf("list who records from outside: %w", err)
	}
	c := config.Default()
	c.DataDir = o.dir
	c.Web.Listen = o.listen
	c.Media.MinFree = 0
	c.Accounts = []config.Account{{
		Name: demoAccount, BaseURL: up.baseURL(), Email: demoPerson, APIKey: up.key,
		RecordedBy: outside, AllowPrivate: true,
	}}
	return &c, nil
}
