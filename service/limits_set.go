package service

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Limits are the settings of the limits that can be changed while running. A
// number that is 0 is that of section 8; else it is from 1 to 100,000.
type Limits struct {
	Global        int    `json:"global"`         // calls in 60 s
	Heavy         int    `json:"heavy"`          // heavy calls in 60 s
	Elevated      bool   `json:"elevated"`       // the heavy limit is 5, whatever Heavy says
	DownloadLimit int    `json:"download_limit"` // download requests in 60 s
	Window        Window `json:"window"`         // how calls are counted; empty means WindowFixed
}

// The limits of section 8.
const (
	globalLimit        = 60
	heavyLimit         = 30
	heavyLimitElevated = 5
	downloadLimit      = 30
	mostLimit          = 100_000
)

// withDefaults is l with the limits of section 8 where it says none.
func (l Limits) withDefaults() Limits {
	l.Global, l.Heavy = cmp.Or(l.Global, globalLimit), cmp.Or(l.Heavy, heavyLimit)
	l.DownloadLimit, l.Window = cmp.Or(l.DownloadLimit, downloadLimit), cmp.Or(l.Window, WindowFixed)
	return l
}

func (l Limits) check() error {
	for _, limit := range []int{l.Global, l.Heavy, l.DownloadLimit} {
		if limit < 1 || limit > mostLimit {
			return fmt.Errorf("limit %d is not from 1 to 100,000", limit)
		}
	}
	_, err := l.Window.check()
	return err
}

// Limits returns the limits in force, Heavy as it is without Elevated.
func (s *Service) Limits() Limits {
	s.limits.mu.Lock()
	defer s.limits.mu.Unlock()
	return s.limits.set
}

// SetLimits changes the limits from the next call on, and for later runs.
func (s *Service) SetLimits(ctx context.Context, l Limits) error {
	l = l.withDefaults()
	if err := l.check(); err != nil {
		return fmt.Errorf("set limits: %w", err)
	}
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := s.store.db.WriteTx(ctx, func(tx *sql.Tx) error { return setSetting(ctx, tx, "limits", value) }); err != nil {
		return fmt.Errorf("set limits: %w", err)
	}
	s.limits.apply(l)
	return nil
}

// startLimits sets what SetLimits left, and for this run what the options say.
func (s *Service) startLimits(ctx context.Context) error {
	var l Limits
	value, err := s.store.setting(ctx, "limits")
	if err != nil {
		return err
	}
	if value != nil {
		if err := json.Unmarshal(value, &l); err != nil {
			return fmt.Errorf("read limits: %w", err)
		}
	}
	l.Elevated = l.Elevated || s.opts.Elevated
	l.DownloadLimit = cmp.Or(s.opts.DownloadLimit, l.DownloadLimit)
	l.Window = cmp.Or(s.opts.Window, l.Window)
	s.limits.apply(l.withDefaults())
	return nil
}
