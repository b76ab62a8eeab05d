package syncer

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
)

// Run keeps the archive complete until ctx ends: it applies deliveries,
// backfills, makes up for runs that the schedule missed and then follows it,
// asks for late content and fetches recordings. It returns nil when ctx ended,
// after everything it started has returned, and an error only if it cannot read
// the archive.
func (s *Syncer) Run(ctx context.Context) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(api.WithOrder(ctx, s.archive.NextOrder))
	start := func(work string, loop func(context.Context) error) {
		g.Go(func() error { return s.keepRunning(ctx, work, loop) })
	}
	start("intake", s.runIntake)
	for _, job := range jobs {
		start("schedule of "+job, func(ctx context.Context) error { return s.followTimetable(ctx, job) })
	}
	if s.opt.DownloadMedia {
		start("downloads", func(ctx context.Context) error { return s.downloads.run(ctx, false, nil) })
	}
	start("accounts", func(ctx context.Context) error { return s.followAccounts(ctx, start) })
	if err := g.Wait(); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// prepare reads the state that earlier processes left. It writes nothing: a full disk
// must not keep the daemon from starting.
func (s *Syncer) prepare(ctx context.Context) error {
	if err := s.loadSuspensions(ctx); err != nil {
		return err
	}
	return s.content.load(ctx, s.archive)
}
