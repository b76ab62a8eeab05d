package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"minutebook/service"
)

// Service gives the service's interface over the archive: the one that the
// daemon serves or, where it serves none, one for administering it alone. What
// an account is shown, the person whose account it is sees.
func (h *house) Service(ctx context.Context) (*service.Service, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own != nil {
		return h.own, nil
	}
	if err := h.setAccounts(ctx); err != nil {
		return nil, err
	}
	s, err := service.New(ctx, service.Options{
		Archive: h.archive, PublicURL: h.cfg.Service.PublicURL, AllowPrivate: h.cfg.Service.AllowPrivate,
		Offline: !h.opts.Daemon || !h.cfg.Service.Enabled, Now: time.Now, Logger: h.log,
	})
	if err != nil {
		return nil, err
	}
	h.own = s
	return s, nil
}

// finishForgetting goes on with what a crash interrupted. The service's state is
// opened for it where there is one, so that it lets go too.
func (h *house) finishForgetting(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(h.cfg.DataDir, "service.db")); err == nil {
		if _, err := h.Service(ctx); err != nil {
			return err
		}
	}
	return h.archive.FinishForgetting(ctx)
}
