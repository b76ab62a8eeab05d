package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/archive/notes"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/internal/nearest"
	"minutebook/internal/notify"
	"minutebook/receiver"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web"
	"minutebook/web/access"
	"minutebook/web/accounts"
)

// application is an open data directory with the index, the syncer and the service
// over it, which are opened at first use.
type application struct {
	cfg     atomic.Pointer[config.Config] // replaced as a whole when the configuration is loaded again
	log     zerolog.Logger
	archive *archive.Archive
	opts    appOptions
	life    context.Context // until this process is to end
	end     context.CancelFunc

	mu         sync.Mutex // guards the fields below
	pageURL    string     // of the daemon's page
	index      *search.Index
	syncer     *syncer.Syncer
	configured *clientSet // of the configuration's accounts, filled with syncer
	own        *service.Service
	notes      *notes.DB
	// needsRestart are the settings of the file that wait for a restart.
	needsRestart []string

	storing sync.Mutex  // held from the reading of the configuration until its accounts are stored
	unset   atomic.Bool // the accounts could not be stored

	opening sync.Mutex // guards access
	access  *access.DB

	connecting sync.Mutex // guards connector
	connector  *accounts.Connector

	exchanging   sync.Mutex             // guards tokenBudgets
	tokenBudgets map[string]*api.Budget // by the digest of the OAuth app

	// reload loads the configuration again; nil where it is loaded only at the start.
	reload func(context.Context) (control.Reloaded, error)
	// refresh makes the receiver in this process read its secrets again; nil
	// without a receiver.
	refresh func(context.Context) error
	// upkeep returns the next times of the daemon's upkeep; nil without a daemon.
	upkeep func() map[string]time.Time
	// channels returns the states of the daemon's channels to people; nil without a daemon.
	channels   func() []notify.ChannelState
	activities *control.Activities // that run in this process
	// received counts the requests of the receiver in this process; nil without one.
	received func() receiver.Counts
	// forwarders says who sends X-Forwarded-For to the listeners of this process; nil without one.
	forwarders func() map[string][]netip.Addr
}

type appOptions struct {
	Version string
	Create  bool // create a missing archive
	Daemon  bool // the process follows the archive, so that Index need not catch up
	Moved   bool // the configured base URL is the new address of the same service
	// Page and Receiver are open listeners; nil for those of the configuration.
	Page, Receiver net.Listener
	// Times bound how long the peers of the listeners may take; zero for defaults.
	Times httpserver.Times
	// ConnectedInterval is the time between two looks at who was deactivated; zero for
	// connectedInterval.
	ConnectedInterval time.Duration
	// Configuration is the file that cfg was read from, Load reads it again, and
	// LogLevel is the level that it sets. Load is nil where there is nothing to read.
	Configuration control.Configuration
	// FirstConfiguration is the file that Load reads once it is there; "" with a file.
	FirstConfiguration string
	Load               func() (*config.Config, control.Configuration, error)
	LogLevel           *logLevel
}

// sideSchemas are the migrations of the databases beside archive.db and inbox.db, by their names.
func sideSchemas() map[string]fs.FS {
	return map[string]fs.FS{notes.Name: notes.Migrations(), access.Name: access.Migrations(), service.DatabaseName: service.Migrations()}
}

// openApp opens the archive and takes the data directory's lock. The caller closes
// the application.
func openApp(ctx context.Context, cfg *config.Config, log zerolog.Logger, opts appOptions) (*application, error) {
	a, err := archive.Open(ctx, archive.Options{
		Dir: cfg.DataDir, Create: opts.Create, MediaURL: cfg.Media.URL, Logger: log, Now: time.Now, Schemas: sideSchemas(),
	})
	if err != nil {
		return nil, err
	}
	app := &application{log: log, archive: a, opts: opts, configured: newClientSet(), activities: &control.Activities{}}
	app.cfg.Store(cfg)
	app.life, app.end = context.WithCancel(ctx)
	return app, nil
}

// untilEnd returns a context for work that must not end halfway where ctx does, since whoever asked
// is gone. It ends when this process is to end.
func (app *application) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(app.life, cancel)
	if app.life.Err() != nil { // AfterFunc cancels some time later
		cancel()
	}
	return ctx, func() { stop(); cancel() }
}

// config returns the configuration in force, which nobody changes.
func (app *application) config() *config.Config { return app.cfg.Load() }

// Close closes the index, if it is open, and the archive.
func (app *application) Close() error {
	app.end()
	app.mu.Lock()
	defer app.mu.Unlock()
	var err error
	if app.index != nil {
		err = app.index.Close()
		app.index = nil
	}
	return errors.Join(err, app.archive.Close())
}

// Index returns the search index. Unless this process follows the archive, the
// index catches up with it first.
func (app *application) Index(ctx context.Context) (*search.Index, error) {
	return app.indexWithin(ctx, 0)
}

// lookAtIndex is Index for a look at the state: an index that is missing or far behind
// is not made whole for that, so that the look is quick.
func (app *application) lookAtIndex(ctx context.Context) (*search.Index, error) {
	const patience = 2 * time.Second
	return app.indexWithin(ctx, patience)
}

// indexWithin is Index with a limit of the time in which the index catches up; 0 is no limit.
// Work that the limit cuts short is kept.
func (app *application) indexWithin(ctx context.Context, limit time.Duration) (*search.Index, error) {
	app.mu.Lock()
	defer app.mu.Unlock()
	if app.index == nil {
		index, err := search.Open(ctx, search.Options{Archive: app.archive, Logger: app.log, Now: time.Now, Busy: app.archive.Inbox().Busy})
		if err != nil {
			return nil, fmt.Errorf("open the index: %w", err)
		}
		app.index = index
	}
	if app.opts.Daemon {
		return app.index, nil
	}
	within := ctx
	if limit > 0 {
		var end context.CancelFunc
		within, end = context.WithTimeout(ctx, limit)
		defer end()
	}
	if err := app.index.CatchUp(within); err != nil && (ctx.Err() != nil || within.Err() == nil) {
		return nil, fmt.Errorf("bring the index up to date: %w", err)
	}
	return app.index, nil
}

// Syncer connects the configured accounts to the service.
func (app *application) Syncer(ctx context.Context) (*syncer.Syncer, error) {
	app.mu.Lock()
	defer app.mu.Unlock()
	if app.syncer != nil {
		return app.syncer, nil
	}
	list, err := app.connectAccounts(ctx)
	if err != nil {
		return nil, err
	}
	times, err := parseSchedule(app.config().Sync)
	if err != nil {
		return nil, err
	}
	s, err := syncer.New(syncer.Options{
		Archive:       app.archive,
		Accounts:      list,
		Schedule:      times,
		PublicURL:     app.config().Receiver.PublicURL,
		DownloadMedia: app.config().Media.Download,
		MinFree:       app.config().Media.MinFree,
		Now:           time.Now,
		Logger:        app.log,
	})
	if err != nil {
		return nil, err
	}
	app.syncer = s
	return s, nil
}

// Connection returns the OAuth connection of an account. It fails for an account
// with an API key.
func (app *application) Connection(ctx context.Context, account string) (*api.OAuth, error) {
	if _, err := app.Syncer(ctx); err != nil {
		return nil, err
	}
	app.mu.Lock()
	defer app.mu.Unlock()
	oauth, ok := app.configured.connections[account]
	if !ok {
		return nil, fmt.Errorf("connect: %w", &nearest.UnknownError{Kind: "account with [accounts.oauth]", Name: account, Known: app.OAuthAccounts()})
	}
	return oauth, nil
}

// OAuthAccounts names the accounts that connect through an OAuth app.
func (app *application) OAuthAccounts() []string {
	var names []string
	for _, a := range app.config().Accounts {
		if a.OAuth != nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// deps returns the dependencies of the operations, by the present configuration.
func (app *application) deps() control.Deps {
	cfg := app.config()
	zone, err := pageZone(cfg)
	if err != nil { // opening the page has reported it
		zone = time.UTC
	}
	app.mu.Lock()
	own, file, needsRestart, pageURL := app.own, app.opts.Configuration, app.needsRestart, app.pageURL
	app.mu.Unlock()
	var serving func(context.Context) (*service.State, error)
	if app.opts.Daemon && own != nil && cfg.Service.Enabled {
		serving = own.State
	}
	minFree := cfg.Media.MinFree
	if !strings.HasPrefix(cfg.Media.URL, "file:") {
		minFree = 0 // recordings are on no disk of this machine
	}
	return control.Deps{ServiceState: serving, Recipients: cfg.Archive.AgeRecipients, Import: cfg.Import, ImportMinFree: minFree, Site: func() (export.Site, error) { return web.NewSite(zone) },
		Archive: app.archive, Index: app.Index, IndexState: app.lookAtIndex, Syncer: app.Syncer, Connection: app.Connection, OAuthAccounts: app.OAuthAccounts, Service: app.Service,
		Access: app.Access, Connector: app.Connector, Notes: app.Notes, Web: cfg.Web,
		Received: app.received, Forwarders: app.forwarders, Running: app.opts.Daemon, Version: app.opts.Version, Webhooks: app.webhookDeps(),
		Retention: retentionRules(cfg), Configuration: file, FirstConfiguration: app.opts.FirstConfiguration, Reload: app.reload, NeedsRestart: needsRestart, PageURL: pageURL, Location: zone, Logger: app.log,
		Proof: control.Proof{From: cfg.Backup.To, Identity: cfg.Backup.IdentityFile}, Upkeep: app.upkeep, Channels: app.channels, Activities: app.activities,
	}
}

// namedZone returns the machine's time zone by its IANA name, which the link to its file ends with
// where TZ does not say it. local is the name that the zone has without it.
func namedZone(local, link string) *time.Location {
	if local == "Local" {
		local, _ = os.Readlink(link) // not everywhere a link
	}
	if _, name, ok := strings.Cut(local, "zoneinfo/"); ok {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.Local
}

// pageZone returns the time zone of the page.
func pageZone(cfg *config.Config) (*time.Location, error) {
	if cfg.Web.TimeZone == "" {
		return namedZone(time.Local.String(), "/etc/localtime"), nil
	}
	zone, err := time.LoadLocation(cfg.Web.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("read web.time_zone: %w", err)
	}
	return zone, nil
}
