package main

import (
	"context"
	"fmt"
	"time"

	"minutebook/archive/notes"
	"minutebook/config"
	"minutebook/control"
	"minutebook/web/access"
)

// Access returns the people who may enter, and the audit.
func (app *application) Access(ctx context.Context) (*access.DB, error) {
	app.opening.Lock()
	defer app.opening.Unlock()
	if app.access != nil {
		return app.access, nil
	}
	keys, err := parseAccountKeys(app.config())
	if err != nil {
		return nil, err
	}
	db, err := access.Open(ctx, access.Options{Archive: app.archive, AccountKeys: keys, EndOutlets: app.endOutlets, Now: time.Now, Logger: app.log})
	if err != nil {
		return nil, err
	}
	app.access = db
	return db, nil
}

// endOutlets ends the feeds and webhooks of a person's saved searches.
func (app *application) endOutlets(ctx context.Context, person int64) error {
	db, err := app.Notes(ctx)
	if err != nil {
		return err
	}
	return db.EndOutlets(ctx, person)
}

// parseAccountKeys returns the keys of people's own accounts, nil where there are none.
func parseAccountKeys(cfg *config.Config) ([][]byte, error) {
	if cfg.Web.Accounts.Keys == "" {
		return nil, nil
	}
	keys, err := access.ParseAccountKeys(cfg.Web.Accounts.Keys)
	if err != nil {
		return nil, fmt.Errorf("read the keys of web.accounts: %w", err)
	}
	return keys, nil
}

// openAccess opens access.db for the daemon and records the configuration that it
// runs with.
func (d *daemon) openAccess(ctx context.Context) error {
	db, err := d.Access(ctx)
	if err != nil {
		return err
	}
	return recordLoaded(ctx, db, d.opts.Configuration)
}

// recordLoaded records in the audit that a configuration was loaded.
func recordLoaded(ctx context.Context, db *access.DB, file control.Configuration) error {
	return db.Record(ctx, access.Event{Actor: access.ActorSystem, Kind: access.ConfigurationLoaded, IDs: access.IDs{Hash: file.SHA256}})
}

// runAccess prunes the audit and deletes sessions that have ended, at start and
// every day, until ctx ends.
func (d *daemon) runAccess(ctx context.Context) error {
	db, err := d.Access(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		changed := d.configChanged()
		now, err := d.archive.ConfirmedTime(ctx)
		if err == nil {
			err = db.Sweep(ctx, now)
		}
		if err == nil {
			_, err = db.Prune(ctx, now, time.Duration(d.config().Audit.Keep))
		}
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("prune the audit and the sessions; trying again tomorrow")
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(24 * time.Hour):
		}
	}
	return nil
}

// Notes returns the database of notes, ticks, merged people and saved searches.
func (app *application) Notes(ctx context.Context) (*notes.DB, error) {
	app.mu.Lock()
	defer app.mu.Unlock()
	if app.notes != nil {
		return app.notes, nil
	}
	db, err := notes.Open(ctx, notes.Options{Archive: app.archive})
	if err != nil {
		return nil, err
	}
	app.notes = db
	return db, nil
}
