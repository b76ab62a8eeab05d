package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/internal/notify"
	"minutebook/internal/pause"
	"minutebook/internal/phrase"
	"minutebook/receiver"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web"
	"minutebook/web/clip"
)

// daemon is an application that answers on the page, the receiver and the command
// socket.
type daemon struct {
	*application
	page       swapHandler
	monitor    swapHandler     // health and metrics, for a listener of their own
	operations *control.Socket // those of the present configuration
	roster     *roster.Roster
	index      *search.Index
	clips      *clip.Cutter // nil without ffmpeg
	signIns    *web.SignIns // of every configuration
	syncer     *syncer.Syncer
	receiver   *receiver.Receiver
	service    *service.Service // nil unless [service] is enabled

	webListener      net.Listener
	receiverListener net.Listener // nil without [receiver] listen
	monitorListener  net.Listener // nil without metrics_listen

	pageForwarders, receiverForwarders httpserver.Forwarders

	loading sync.Mutex    // held while the configuration or the connected accounts change
	adding  sync.Mutex    // held while an account is added on the page
	changed chan struct{} // closed and replaced, under mu, when the configuration changes

	began      time.Time
	asked      chan askedJob // by people on the page
	looking    chan struct{} // a wish that the daemon looks for conditions that need a person
	notifier   *notify.Notifier
	background sync.WaitGroup // reads of accounts that were just connected
}

// startDaemon opens everything that can fail, so that an error at start is an
// error of the command. Before Run nothing is answered but commands, which are told that it
// still starts.
func startDaemon(ctx context.Context, cfg *config.Config, log zerolog.Logger, opts appOptions) (*daemon, error) {
	opts.Daemon = true
	app, err := openWhenFree(ctx, cfg, log, opts)
	if err != nil {
		return nil, err
	}
	d := &daemon{application: app, roster: roster.New(app.archive), changed: make(chan struct{}), began: app.archive.Now(), asked: make(chan askedJob, 16), looking: make(chan struct{}, 1)}
	d.notifier = &notify.Notifier{Channels: func() []notify.Channel { return notifyChannels(d.config().Notify) },
		Store: notifyStore{d.archive}, Now: d.archive.Now, Logger: d.log}
	app.upkeep, app.channels = d.nextUpkeep, d.notifier.States
	app.forwarders = func() map[string][]netip.Addr {
		return map[string][]netip.Addr{"web": d.pageForwarders.All(), "receiver": d.receiverForwarders.All()}
	}
	if opts.Load != nil {
		d.reload = d.loadAgain
	}
	if err := d.open(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// ownerWait is how long a daemon waits at its start for another process that has the data
// directory open: a command that is about to end, or a killed daemon that is being
// cleared away.
const ownerWait = 4 * time.Second

// openWhenFree is openApp, once the data directory is free. It does not wait for another
// daemon, which answers commands.
func openWhenFree(ctx context.Context, cfg *config.Config, log zerolog.Logger, opts appOptions) (*application, error) {
	deadline, logged := time.Now().Add(ownerWait), false
	for {
		app, err := openApp(ctx, cfg, log, opts)
		if !errors.Is(err, archive.ErrInUse) || time.Now().After(deadline) || isServed(ctx, cfg.DataDir) {
			return app, err
		}
		if !logged {
			log.Info().Err(err).Msg("waiting for the process that has the data directory open")
			logged = true
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// isServed reports whether a daemon answers for a data directory.
func isServed(ctx context.Context, dir string) bool {
	client, err := control.Dial(ctx, dir)
	if err == nil {
		_ = client.Close()
	}
	return err == nil
}

func (d *daemon) open(ctx context.Context) (err error) {
	if err := checkUse(d.config()); err != nil {
		return &usageError{err}
	}
	if err := d.openListeners(ctx); err != nil {
		return err
	}
	if err = d.openAccess(ctx); err != nil {
		return err
	}
	if d.index, err = d.Index(ctx); err != nil {
		return err
	}
	if d.syncer, err = d.Syncer(ctx); err != nil {
		return err
	}
	if d.receiver, err = d.newReceiver(); err != nil {
		return err
	}
	if d.receiverListener != nil {
		d.refresh, d.received = d.receiver.Refresh, d.receiver.Counts
	}
	if d.config().Service.Enabled {
		if d.service, err = d.Service(ctx); err != nil {
			return err
		}
	}
	connector, err := d.Connector(ctx)
	if err != nil {
		return err
	}
	if d.clips, err = web.OpenCutter(d.archive); err != nil {
		return err
	}
	d.signIns = web.NewSignIns(time.Now)
	handlers, err := d.newPage(ctx, d.config(), connector)
	if err != nil {
		return err
	}
	d.page.set(handlers.page)
	d.monitor.set(handlers.monitor)
	d.operations.Ready(control.Operations(d.deps())) // last: reload replaces the page
	return nil
}

// openListeners opens those that the configuration names and nobody handed over, and the
// command socket.
func (d *daemon) openListeners(ctx context.Context) (err error) {
	cfg := d.config()
	if d.webListener = d.opts.Page; d.webListener != nil {
		if err := cfg.Web.CheckListener(d.webListener.Addr().String()); err != nil {
			return &usageError{err}
		}
	} else if d.webListener, err = listen("web.listen", cfg.Web.Listen); err != nil {
		return err
	}
	d.pageURL = d.urlOfPage(cfg)
	if at := cfg.Web.MetricsListen; at != "" {
		if d.monitorListener, err = listen("web.metrics_listen", at); err != nil {
			return err
		}
	}
	d.receiverListener = d.opts.Receiver
	if d.receiverListener == nil && cfg.Receiver.Listen != "" {
		if d.receiverListener, err = listen("receiver.listen", cfg.Receiver.Listen); err != nil {
			return err
		}
	}
	d.operations, err = control.OpenSocket(ctx, cfg.DataDir)
	return err
}

// listen opens a listener; the error names the setting to change.
func listen(setting, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; ports below 1024 are root's: give the address to a socket of systemd (docs/systemd.md), or choose a higher port", err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s (%s): %w", address, setting, err)
	}
	return l, nil
}

func (d *daemon) newReceiver() (*receiver.Receiver, error) {
	r := d.config().Receiver
	proxies, err := parseNetworks("receiver.trusted_proxies", r.TrustedProxies)
	if err != nil {
		return nil, err
	}
	return receiver.New(receiver.Options{
		Inbox: d.archive.Inbox(), Accounts: webhookSecrets(d.config()), MaxBody: r.MaxBody, TrustedProxies: proxies, Forwarders: &d.receiverForwarders,
		TLSCert: r.TLSCert, TLSKey: r.TLSKey, KeepBodies: time.Duration(r.KeepBodies), Handlers: d.configured.redirectHandlers(),
		HeaderTime: d.opts.Times.Header, BodyTime: d.opts.Times.Body, AnswerTime: d.opts.Times.Answer, IdleTime: d.opts.Times.Idle,
		Now: time.Now, Logger: d.log,
	})
}

// webhookSecrets returns the secrets of a configuration's accounts.
func webhookSecrets(cfg *config.Config) map[string][]string {
	secrets := map[string][]string{}
	for _, a := range cfg.Accounts {
		secrets[a.Name] = a.WebhookSecrets
	}
	return secrets
}

// Run answers until ctx ends or a part fails, then stops all parts and waits
// for them.
func (d *daemon) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, d.end)()
	g.Go(func() error { return d.index.Follow(ctx) })
	g.Go(func() error { return d.syncer.Run(ctx) })
	g.Go(func() error { return d.runRetention(ctx) })
	g.Go(func() error { d.archive.KeepClock(ctx); return nil })
	g.Go(func() error { return d.runUpkeep(ctx) })
	g.Go(func() error { return d.runImports(ctx) })
	g.Go(func() error { return d.runNotify(ctx) })
	g.Go(func() error { return d.runDigests(ctx) })
	g.Go(func() error { return d.runAccess(ctx) })
	g.Go(func() error { return d.runAskedJobs(ctx) })
	g.Go(func() error {
		if err := d.roster.Follow(ctx); err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("count who appears in meetings; each page that needs it tries again")
		}
		return nil
	})
	g.Go(func() error { return d.runNotifications(ctx) })
	g.Go(func() error {
		defer d.background.Wait()
		return d.followConnected(ctx)
	})
	g.Go(func() error { return d.runForgetting(ctx) })
	g.Go(func() error { return d.servePage(ctx) })
	if d.monitorListener != nil {
		g.Go(func() error { return serveHTTP(ctx, d.monitorListener, &d.monitor, d.opts.Times, d.log) })
	}
	g.Go(func() error { return d.operations.Run(ctx) })
	if d.receiverListener != nil {
		g.Go(func() error { return d.receiver.Serve(ctx, d.receiverListener) })
	}
	if d.service != nil {
		g.Go(func() error { return d.service.Run(ctx) })
	}
	g.Go(func() error { return d.tellManager(ctx) })
	g.Go(func() error { return d.releaseAtRest(ctx) })
	d.log.Info().Stringer("web", d.webListener.Addr()).Str("data_dir", d.config().DataDir).Msg("serving")
	err := g.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// forgetInterval is the time between two tries to finish erasures.
const forgetInterval = time.Minute

// runForgetting finishes erasures that failed, were interrupted, or wait for another
// program to end, until ctx ends.
func (d *daemon) runForgetting(ctx context.Context) error {
	tick := time.NewTicker(forgetInterval)
	defer tick.Stop()
	for failed := ""; ; {
		failed = d.tryForgetting(ctx, failed)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// tryForgetting finishes the erasures that are unfinished. It returns why it failed, and logs
// that unless it is the last reason.
func (d *daemon) tryForgetting(ctx context.Context, last string) (failed string) {
	unfinished, _, err := d.archive.Forgetting(ctx)
	if err == nil && unfinished > 0 {
		err = d.finishForgetting(ctx)
	}
	if err == nil || ctx.Err() != nil {
		return ""
	}
	if failed = phrase.Error(err); failed != last {
		d.log.Error().Str("error", failed).Msg("a meeting is not wholly erased yet; this is tried again every minute")
	}
	return failed
}

// Close closes the command socket and the listeners, in case Run was never called, then the
// application.
func (d *daemon) Close() error {
	if d.operations != nil {
		d.operations.Close()
	}
	for _, l := range []net.Listener{d.webListener, d.receiverListener, d.monitorListener} {
		if l != nil {
			l.Close()
		}
	}
	return d.application.Close()
}

// stopTime is how long open requests have when the program stops.
const stopTime = 5 * time.Second

// serveHTTP serves until ctx ends, then cancels the context of open requests and
// waits a few seconds for them.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler, t httpserver.Times, log zerolog.Logger) error {
	return httpserver.Serve(ctx, newHTTPServer(ctx, h, t, log), l, httpserver.Bounds{Trusted: localNetworks()}, stopTime)
}

// newHTTPServer returns a server whose requests end with ctx.
func newHTTPServer(ctx context.Context, h http.Handler, t httpserver.Times, log zerolog.Logger) *http.Server {
	srv := httpserver.New(h, t, log)
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	return srv
}

// localNetworks are where proxies are, unless the configuration names others.
func localNetworks() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}
