package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/rs/zerolog"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/receiver"
	syncer "minutebook/sync"
	"minutebook/web"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// swapHandler answers by a handler that can be replaced: requests that the one before
// is answering go on. It is safe for concurrent use.
type swapHandler struct{ current atomic.Pointer[http.Handler] }

func (s *swapHandler) set(h http.Handler) { s.current.Store(&h) }

// ServeHTTP implements [http.Handler].
func (s *swapHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.current.Load()).ServeHTTP(w, r)
}

// configChanged returns a channel that is closed when another configuration is in
// force.
func (d *daemon) configChanged() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// reloadOnHangup loads the configuration again on every SIGHUP, until ctx ends.
func (d *daemon) reloadOnHangup(ctx context.Context, signals <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-signals:
			d.log.Info().Msg("SIGHUP: loading the configuration again")
			if _, err := d.loadAgain(ctx); err != nil && ctx.Err() == nil {
				d.log.Error().Err(err).Msg("SIGHUP: the configuration is refused, and the present one stays in force")
			}
		}
	}
}

// notifyHangup returns the channel of SIGHUP, which does not end the program any more
// until stop is called.
func notifyHangup() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// prepared is all that a new configuration needs and that can fail.
type prepared struct {
	cfg       *config.Config
	file      control.Configuration
	clients   *clientSet
	schedule  syncer.Schedule
	people    *access.DB
	connector *accounts.Connector
	connected []access.Account
	page      *pageHandlers // nil: the present ones stay
	result    control.Reloaded
}

// loadAgain loads the configuration again. It is in force when loadAgain returns
// without an error; otherwise nothing has changed.
func (d *daemon) loadAgain(ctx context.Context) (control.Reloaded, error) {
	d.loading.Lock()
	defer d.loading.Unlock()
	p, err := d.prepare(ctx)
	if err != nil {
		return control.Reloaded{}, err
	}
	ctx, done := d.untilEnd(ctx)
	defer done()
	if err := d.checkService(ctx, p.cfg); err != nil {
		return control.Reloaded{}, err
	}
	if err := d.takeOver(ctx, p); err != nil {
		return control.Reloaded{}, err
	}
	if err := d.adopt(p); err != nil {
		return control.Reloaded{}, err
	}
	if err := recordLoaded(context.WithoutCancel(ctx), p.people, p.file); err != nil {
		d.log.Error().Err(err).Msg("record in the audit that the configuration was loaded")
	}
	d.log.Info().Str("path", p.file.Path).Strs("changed", p.result.Changed).Msg("configuration loaded")
	if len(p.result.Left) > 0 {
		p.result.Webhooks = d.listLeftWebhooks(ctx, p.result.Left)
		d.log.Warn().Strs("accounts", p.result.Left).Strs("webhooks", p.result.Webhooks).Msg("accounts are not configured any more: their meetings are kept, and nothing is read for them")
	}
	if len(p.result.NeedsRestart) > 0 {
		d.log.Warn().Strs("settings", p.result.NeedsRestart).Msg("some settings keep their values until a restart")
	}
	return p.result, nil
}

// listLeftWebhooks returns the ids of the webhooks that accounts have at the service.
func (d *daemon) listLeftWebhooks(ctx context.Context, accounts []string) (ids []string) {
	all, err := d.archive.Inbox().Registrations(ctx, "")
	if err != nil {
		d.log.Error().Err(err).Msg("list the webhooks of accounts that are not configured any more")
	}
	for _, g := range all {
		if g.ID != "" && slices.Contains(accounts, g.Account) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// checkUse fails when a part of the daemon cannot use a configuration that is valid by
// itself: the next start would fail, perhaps in months.
func checkUse(cfg *config.Config) error {
	for _, s := range []struct{ setting, cert, key string }{{"web.tls_cert", cfg.Web.TLSCert, cfg.Web.TLSKey}, {"receiver.tls_cert", cfg.Receiver.TLSCert, cfg.Receiver.TLSKey}} {
		if s.cert == "" {
			continue
		}
		if _, err := httpserver.TLSConfig(s.cert, s.key, zerolog.Nop()); err != nil {
			return fmt.Errorf("%s: %w", s.setting, err)
		}
	}
	if err := receiver.CheckSecrets(webhookSecrets(cfg)); err != nil {
		return err
	}
	if _, err := parseAccountKeys(cfg); err != nil {
		return err
	}
	entry, err := newEntry(cfg.Web, nil)
	if err != nil {
		return err
	}
	return web.CheckPublicURL(entry.PublicURL)
}

// prepare reads the configuration and makes everything that belongs to it. It changes
// nothing.
func (d *daemon) prepare(ctx context.Context) (p prepared, err error) {
	next, file, err := d.opts.Load()
	if err != nil {
		return p, err
	}
	p.file, p.result.Configuration = file, file
	switch loaded := d.deps().Configuration; {
	case loaded.IsEmpty():
	case file.Path == "":
		return p, fmt.Errorf("read configuration %s: the file is not there any more; put it back, since a restart would go on without its settings", loaded.Path)
	case file.IsEmpty():
		return p, fmt.Errorf("read configuration %s: the file has become empty; write it again, or restart", file.Path)
	}
	if err := checkUse(next); err != nil {
		return p, err
	}
	present := d.config()
	if p.cfg, p.result.Changed, p.result.NeedsRestart, err = present.Reload(next); err != nil {
		return p, err
	}
	if err := p.cfg.Web.CheckListener(d.webListener.Addr().String()); err != nil { // somebody may have handed it over
		return p, fmt.Errorf("read configuration %s: %w", file.Path, err)
	}
	if p.result.Left, err = missingAccounts(present, p.cfg); err != nil {
		return p, fmt.Errorf("read configuration %s: %w", file.Path, err)
	}
	if p.clients, err = d.newClients(p.cfg, d.configured); err != nil {
		return p, err
	}
	if p.schedule, err = parseSchedule(p.cfg.Sync); err != nil {
		return p, err
	}
	if p.people, err = d.Access(ctx); err != nil {
		return p, err
	}
	isNew, err := d.prepareConnector(ctx, &p, present)
	if err != nil {
		return p, err
	}
	if !isNew && showsSame(p.cfg, present) {
		return p, nil
	}
	handlers, err := d.newPage(ctx, p.cfg, p.connector)
	if err != nil {
		return p, fmt.Errorf("make the page: %w", err)
	}
	p.page = &handlers
	return p, nil
}

// missingAccounts returns the accounts of a configuration that the next one lacks. It fails
// when none is left, or none of those in the file: a file that is cut off before its accounts,
// while an editor writes it or on a full disk, is a valid one without them, also beside accounts
// of the page and of the environment.
func missingAccounts(present, next *config.Config) ([]string, error) {
	missing := []string{}
	for _, a := range present.Accounts {
		if !slices.ContainsFunc(next.Accounts, func(b config.Account) bool { return b.Name == a.Name }) {
			missing = append(missing, a.Name)
		}
	}
	isCutOff := len(present.FileAccounts()) > 0 && len(next.FileAccounts()) == 0
	if len(missing) > 0 && (isCutOff || len(next.Accounts) == 0) {
		return nil, fmt.Errorf("it has no [[accounts]] any more, and had %s: write it again, or restart the daemon to go on without them", strings.Join(missing, ", "))
	}
	return missing, nil
}

// prepareConnector makes the connector of people's own accounts, where the settings ask for
// another one, and lists the accounts.
func (d *daemon) prepareConnector(ctx context.Context, p *prepared, present *config.Config) (isNew bool, err error) {
	isNew = p.cfg.ServiceURL() != present.ServiceURL() || p.cfg.Web.PublicURL != present.Web.PublicURL || p.cfg.Web.Accounts != present.Web.Accounts
	if isNew {
		p.connector, err = d.newConnector(ctx, p.cfg, p.people)
	} else {
		p.connector, err = d.Connector(ctx)
	}
	if err != nil {
		return isNew, err
	}
	p.connected, err = d.listConnected(ctx, p.connector)
	return isNew, err
}

// showsSame reports whether the page is the same by two configurations.
func showsSame(a, b *config.Config) bool {
	return reflect.DeepEqual(a.Web, b.Web) && reflect.DeepEqual(a.Notify, b.Notify) && a.Audit.Reads == b.Audit.Reads
}

// takeOver stores the accounts of a prepared configuration, which is the one in force then.
// Nobody stores the accounts of the former one meanwhile, or afterwards.
func (d *daemon) takeOver(ctx context.Context, p prepared) error {
	d.storing.Lock()
	defer d.storing.Unlock()
	if err := d.storeAccounts(ctx, p.cfg, p.connected); err != nil {
		return err
	}
	d.connecting.Lock()
	d.connector = p.connector
	d.connecting.Unlock()
	d.cfg.Store(p.cfg)
	return nil
}

// adopt makes every part follow a configuration that is in force. It fails only on a mistake
// in the program, since everything has been checked.
func (d *daemon) adopt(p prepared) error {
	d.mu.Lock()
	d.configured = p.clients
	d.pageURL, d.opts.Configuration, d.needsRestart = d.urlOfPage(p.cfg), p.file, p.result.NeedsRestart
	d.mu.Unlock()
	if err := d.syncer.SetAccounts(append(slices.Clone(p.clients.accounts), d.connectClients(p.connected, p.connector)...)); err != nil {
		return err
	}
	if err := d.syncer.SetSchedule(p.schedule); err != nil {
		return err
	}
	if err := d.receiver.SetAccounts(webhookSecrets(p.cfg), p.clients.redirectHandlers()); err != nil {
		return err
	}
	d.operations.Ready(control.Operations(d.deps()))
	if p.page != nil {
		before, ok := (*d.page.current.Load()).(*web.Handler)
		d.page.set(p.page.page)
		if ok {
			before.Retire(p.page.page) // open answers ask the new page who may read on
		}
		d.monitor.set(p.page.monitor)
	}
	d.opts.LogLevel.set(p.cfg.Log.Level)
	d.mu.Lock()
	if d.own != nil {
		d.own.SetPublicURL(urlOfService(p.cfg))
	}
	close(d.changed)
	d.changed = make(chan struct{})
	d.mu.Unlock()
	d.look()
	return nil
}
