package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/receiver"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
	"minutebook/web"
)

// house is an open data directory with what works on it. The index and the
// syncer are opened when first asked for.
type house struct {
	cfg     *config.Config
	log     zerolog.Logger
	archive *archive.Archive
	opts    houseOptions
	pageURL string // of the daemon's page, set before anything runs

	mu          sync.Mutex // guards what follows
	index       *search.Index
	syncer      *syncer.Syncer
	clients     map[string]*api.Client // by account, filled with syncer
	connections map[string]*api.OAuth  // likewise
	own         *service.Service

	// refresh has the receiver that runs here read its secrets again; nil: none.
	refresh func(context.Context) error
	// received counts the requests of the receiver that runs here; nil: none.
	received func() receiver.Counts
}

type houseOptions struct {
	Version string
	Create  bool // make the archive when it is not there
	Daemon  bool // the index is followed by somebody, so nobody else catches it up
	Moved   bool // take the configured address for the same service as before
	// Receiver is the receiver's listener where it was opened before; nil: the
	// configuration says where to listen.
	Receiver net.Listener
	// Times bound what the peers of the listeners may take; zero: the defaults.
	Times httpserver.Times
	// Configuration is the file that cfg was read from.
	Configuration control.Configuration
}

// openHouse opens the archive and takes the data directory's lock. The caller
// closes the house.
func openHouse(ctx context.Context, cfg *config.Config, log zerolog.Logger, opts houseOptions) (*house, error) {
	a, err := archive.Open(ctx, archive.Options{
		Dir: cfg.DataDir, Create: opts.Create, MediaURL: cfg.Media.URL, Logger: log, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	return &house{cfg: cfg, log: log, archive: a, opts: opts,
		clients: map[string]*api.Client{}, connections: map[string]*api.OAuth{}}, nil
}

// Close closes what was opened, the archive last.
func (h *house) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if h.index != nil {
		err = h.index.Close()
		h.index = nil
	}
	return errors.Join(err, h.archive.Close())
}

// Index opens the index; without a daemon that follows the archive it is
// brought up to the archive's head first.
func (h *house) Index(ctx context.Context) (*search.Index, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.index == nil {
		index, err := search.Open(ctx, search.Options{Archive: h.archive, Logger: h.log, Now: time.Now, Busy: h.archive.Inbox().Busy})
		if err != nil {
			return nil, fmt.Errorf("open the index: %w", err)
		}
		h.index = index
	}
	if h.opts.Daemon {
		return h.index, nil
	}
	if err := h.index.CatchUp(ctx); err != nil {
		return nil, fmt.Errorf("bring the index up to date: %w", err)
	}
	return h.index, nil
}

// Syncer connects the configured accounts to the service.
func (h *house) Syncer(ctx context.Context) (*syncer.Syncer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.syncer != nil {
		return h.syncer, nil
	}
	accounts, err := h.accounts(ctx)
	if err != nil {
		return nil, err
	}
	times, err := schedule(h.cfg.Sync)
	if err != nil {
		return nil, err
	}
	s, err := syncer.New(syncer.Options{
		Archive:       h.archive,
		Accounts:      accounts,
		Schedule:      times,
		PublicURL:     h.cfg.Receiver.PublicURL,
		DownloadMedia: h.cfg.Media.Download,
		MinFree:       h.cfg.Media.MinFree,
		Now:           time.Now,
		Logger:        h.log,
	})
	if err != nil {
		return nil, err
	}
	h.syncer = s
	return s, nil
}

// Connection gives the OAuth connection of an account; an account with an API
// key has none.
func (h *house) Connection(ctx context.Context, account string) (*api.OAuth, error) {
	if _, err := h.Syncer(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	oauth, ok := h.connections[account]
	if !ok {
		return nil, fmt.Errorf("connect %q: the configuration has no account of this name with [accounts.oauth]", account)
	}
	return oauth, nil
}

// OAuthAccounts names the accounts that connect through an OAuth app.
func (h *house) OAuthAccounts() []string {
	var names []string
	for _, a := range h.cfg.Accounts {
		if a.OAuth != nil {
			names = append(names, a.Name)
		}
	}
	return names
}

// control is the house as the operations see it.
func (h *house) control() control.Deps {
	zone, err := h.zone()
	if err != nil { // the page says so, at start
		zone = time.UTC
	}
	var serving func(context.Context) (*service.State, error)
	if h.opts.Daemon && h.own != nil && h.cfg.Service.Enabled {
		serving = h.own.State
	}
	return control.Deps{ServiceState: serving, Recipients: h.cfg.Archive.AgeRecipients, Site: func() (export.Site, error) { return web.NewSite(zone) },
		Archive: h.archive, Index: h.Index, Syncer: h.Syncer, Connection: h.Connection, OAuthAccounts: h.OAuthAccounts, Service: h.Service,
		Received: h.received, Running: h.opts.Daemon, Version: h.opts.Version, Webhooks: h.webhooks(),
		Retention: retentionRules(h.cfg), Configuration: h.opts.Configuration, PageURL: h.pageURL, Location: zone, Logger: h.log,
	}
}

// zone is where the reader of the page lives.
func (h *house) zone() (*time.Location, error) {
	if h.cfg.Web.TimeZone == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(h.cfg.Web.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("read web.time_zone: %w", err)
	}
	return zone, nil
}
