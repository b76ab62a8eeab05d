package main

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"minutebook/archive/notes"
	"minutebook/service"
)

// Service returns the service's interface over the archive: the one that the
// daemon serves or, without one, an offline service for its administration.
func (app *application) Service(ctx context.Context) (*service.Service, error) {
	app.mu.Lock()
	defer app.mu.Unlock()
	if app.own != nil {
		return app.own, nil
	}
	if err := app.setAccounts(ctx, app.config()); err != nil {
		return nil, err
	}
	public := app.config().Service.PublicURL
	if u, err := url.Parse(app.config().Web.PublicURL); public == "" && err == nil && u.Path != "" {
		public = app.config().Web.PublicURL // a request does not tell the base path
	}
	s, err := service.New(ctx, service.Options{
		Archive: app.archive, PublicURL: public, AllowPrivate: app.config().Service.AllowPrivate,
		Offline: !app.opts.Daemon || !app.config().Service.Enabled, Now: time.Now, Logger: app.log,
	})
	if err != nil {
		return nil, err
	}
	app.own = s
	return s, nil
}

// finishForgetting completes an erasure that a crash interrupted. It opens the
// service's state and the notes, if there are any, so that the meeting is erased there
// too.
func (app *application) finishForgetting(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(app.config().DataDir, "service.db")); err == nil {
		if _, err := app.Service(ctx); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(app.config().DataDir, notes.Name)); err == nil {
		if _, err := app.Notes(ctx); err != nil {
			return err
		}
	}
	return app.archive.FinishForgetting(ctx)
}
