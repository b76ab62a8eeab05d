package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// Limits are the settings of the limits that can be changed while running.
type Limits struct {
	Elevated      bool   `json:"elevated"`       // the heavy limit is 5 and not 30
	DownloadLimit int    `json:"download_limit"` // download requests in 60 s, 1 to 10,000
	Window        Window `json:"window"`         // how calls are counted; empty means WindowFixed
}

const (
	heavyLimit         = 30
	heavyLimitElevated = 5
	downloadLimit      = 30
)

// Limits returns the limits in force.
func (s *Service) Limits() Limits {
	return Limits{Elevated: s.elev.Load(), DownloadLimit: s.limits.limitOf(classDownload), Window: s.limits.windowOf()}
}

// SetLimits changes the limits from the next call on, and for later runs.
func (s *Service) SetLimits(ctx context.Context, l Limits) error {
	if l.DownloadLimit == 0 {
		l.DownloadLimit = downloadLimit
	}
	if l.DownloadLimit < 1 || l.DownloadLimit > 10_000 {
		return fmt.Errorf("set limits: download limit %d is not from 1 to 10,000", l.DownloadLimit)
	}
	var err error
	if l.Window, err = l.Window.check(); err != nil {
		return fmt.Errorf("set limits: %w", err)
	}
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := s.store.inTx(ctx, func(tx *sql.Tx) error { return setSetting(ctx, tx, "limits", value) }); err != nil {
		return fmt.Errorf("set limits: %w", err)
	}
	s.apply(l)
	return nil
}

func (s *Service) apply(l Limits) {
	s.elev.Store(l.Elevated)
	heavy := heavyLimit
	if l.Elevated {
		heavy = heavyLimitElevated
	}
	s.limits.set(classHeavy, heavy)
	s.limits.set(classDownload, l.DownloadLimit)
	s.limits.setWindow(l.Window)
}

// startLimits sets what SetLimits left, and for this run what the options say.
func (s *Service) startLimits(ctx context.Context) error {
	l := Limits{DownloadLimit: downloadLimit, Window: WindowFixed}
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
	if s.opts.DownloadLimit > 0 {
		l.DownloadLimit = s.opts.DownloadLimit
	}
	if s.opts.Window != "" {
		l.Window = s.opts.Window
	}
	s.apply(l)
	return nil
}
