package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"minutebook/service/limit"
)

// Limits are the limits of section 8 that can be changed while running.
type Limits = limit.Settings

// Window is the kind of window in which calls are counted.
type Window = limit.Window

// The two kinds of window. The zero value means WindowFixed.
const (
	WindowFixed   = limit.Fixed
	WindowSliding = limit.Sliding
)

// Limits returns the limits in force, Heavy as it is without Elevated.
func (s *Service) Limits() Limits { return s.limits.Settings() }

// SetLimits changes the limits from the next call on, and for later runs.
func (s *Service) SetLimits(ctx context.Context, l Limits) error {
	if err := l.Check(); err != nil {
		return fmt.Errorf("set limits: %w", err)
	}
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := s.store.set(ctx, "limits", value); err != nil {
		return fmt.Errorf("set limits: %w", err)
	}
	s.limits.Apply(l)
	return nil
}

// ChangeLimits changes limits from the next call on, and for later runs, which have none of
// this run's options. It returns those in force.
func (s *Service) ChangeLimits(ctx context.Context, change func(*Limits)) (Limits, error) {
	present := s.Limits()
	later, err := s.storedLimits(ctx)
	if err != nil {
		return present, err
	}
	change(&present)
	change(&later)
	if err := s.SetLimits(ctx, later); err != nil {
		return s.Limits(), err
	}
	s.limits.Apply(present)
	return s.Limits(), nil
}

// storedLimits returns the limits of later runs.
func (s *Service) storedLimits(ctx context.Context) (l Limits, err error) {
	value, err := s.store.setting(ctx, "limits")
	if err != nil || value == nil {
		return l, err
	}
	if err := json.Unmarshal(value, &l); err != nil {
		return l, fmt.Errorf("read limits: %w", err)
	}
	return l, nil
}

// startLimits applies the stored limits, and then the options for this run.
func (s *Service) startLimits(ctx context.Context) error {
	l, err := s.storedLimits(ctx)
	if err != nil {
		return err
	}
	l.Elevated = l.Elevated || s.opts.Elevated
	l.DownloadLimit = cmp.Or(s.opts.DownloadLimit, l.DownloadLimit)
	l.Window = cmp.Or(s.opts.Window, l.Window)
	if err := l.Check(); err != nil {
		return err
	}
	s.limits.Apply(l)
	return nil
}
