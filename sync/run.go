package syncer

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
)

// Run keeps the archive complete until ctx ends: it applies what comes into the
// inbox, backfills, makes up for runs that the schedule missed and then follows
// it, asks for late content and fetches recordings. It returns nil when ctx ended,
// after everything it started has returned, and an error only when the archive
// cannot be read.
func (s *Syncer) Run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(api.WithOrder(ctx, s.archive.NextOrder))
	g.Go(func() error { return s.intake(ctx) })
	g.Go(func() error { return s.keepSchedule(ctx) })
	if s.opt.DownloadMedia {
		g.Go(func() error { return s.loader.run(ctx, false, nil) })
	}
	for _, a := range s.accounts {
		g.Go(func() error { return s.startUp(ctx, a) })
		g.Go(func() error { return s.keepAsking(ctx, a) })
	}
	if err := g.Wait(); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// prepare reads the state that earlier processes left.
func (s *Syncer) prepare(ctx context.Context) error {
	if err := s.loadParking(ctx); err != nil {
		return err
	}
	if err := s.replayPassing(ctx); err != nil {
		return err
	}
	if err := s.asks.load(ctx, s.archive); err != nil {
		return err
	}
	if s.opt.DownloadMedia {
		// What was applied before a crash may not have been queued.
		if _, err := s.archive.WantDownloads(ctx); err != nil {
			return err
		}
	}
	return nil
}
