package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/crontab"
	"minutebook/internal/process"
)

// The daemon looks whether a job of upkeep is due when one is, and otherwise every minute,
// since the clock may be set; never more often than every second.
const (
	upkeepEvery = time.Minute
	upkeepPause = time.Second
)

// upkeepJobs are the jobs of upkeep in the order in which they run.
var upkeepJobs = [...]string{control.UpkeepBackup, control.UpkeepProve, control.UpkeepVerify}

// upkeepPlan reads the plan of backups, proofs and checks from the configuration.
func upkeepPlan(cfg *config.Config) (p control.UpkeepPlan, err error) {
	zone, err := time.LoadLocation(cfg.Sync.TimeZone)
	if err != nil {
		return p, err
	}
	p = control.UpkeepPlan{Prove: config.ProofPeriods()[cfg.Backup.Prove], Slices: cfg.Verify.Days}
	if cfg.Backup.To == "" {
		p.Prove = 0
	} else if p.To, err = generation.Absolute(cfg.Backup.To); err != nil {
		return p, err
	}
	if p.Backup, err = parseCron(cfg.Backup.Schedule, zone); err != nil {
		return p, err
	}
	p.Verify, err = parseCron(cfg.Verify.Schedule, zone)
	return p, err
}

// parseCron parses a schedule; nil for none.
func parseCron(expr string, zone *time.Location) (cron.Schedule, error) {
	if expr == "" {
		return nil, nil
	}
	return crontab.Parse(expr, zone)
}

// nextUpkeep returns the next times of the jobs of upkeep, for status.
func (d *daemon) nextUpkeep() map[string]time.Time {
	plan, err := upkeepPlan(d.config())
	if err != nil {
		return nil
	}
	return plan.Next(d.upkeepStates(context.Background()), d.archive.Now())
}

func (d *daemon) upkeepStates(ctx context.Context) map[string]control.UpkeepState {
	states := map[string]control.UpkeepState{}
	for _, job := range upkeepJobs {
		u, err := d.deps().UpkeepState(ctx, job)
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Str("job", job).Msg("read the state of a job")
		}
		states[job] = u
	}
	return states
}

// runUpkeep makes backups and proves them by schedule, and beside that checks the archive,
// until ctx ends. A slow bucket with the backups delays no check.
func (d *daemon) runUpkeep(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.runUpkeepJobs(ctx, control.UpkeepBackup, control.UpkeepProve) })
	g.Go(func() error { return d.runUpkeepJobs(ctx, control.UpkeepVerify) })
	return g.Wait()
}

// runUpkeepJobs runs some jobs by schedule, one at a time, until ctx ends. A job that a
// person has begun is waited for.
func (d *daemon) runUpkeepJobs(ctx context.Context, jobs ...string) error {
	for ctx.Err() == nil {
		changed := d.configChanged()
		plan, err := upkeepPlan(d.config())
		if err != nil {
			return err
		}
		if slices.Contains(jobs, control.UpkeepVerify) { // the loop that nothing else holds up
			d.prepareUpkeep(ctx, plan)
		}
		for _, job := range jobs {
			states, now := d.upkeepStates(ctx), d.archive.Now()
			if at, ok := plan.Next(states, now)[job]; ok && !at.IsZero() && !at.After(now) && !d.activities.Has(job) {
				d.runUpkeepJob(ctx, job, plan, states[job])
				d.look()
			}
		}
		now, wait := d.archive.Now(), upkeepEvery
		for job, at := range plan.Next(d.upkeepStates(ctx), now) {
			if slices.Contains(jobs, job) {
				wait = max(min(wait, at.Sub(now)), upkeepPause)
			}
		}
		waitFor(ctx, wait, changed)
	}
	return nil
}

// prepareUpkeep keeps the free space of today, and that there are schedules of jobs of which
// no run is known.
func (d *daemon) prepareUpkeep(ctx context.Context, plan control.UpkeepPlan) {
	err := d.deps().SampleDisk(ctx)
	for job, schedule := range map[string]cron.Schedule{control.UpkeepBackup: plan.Backup, control.UpkeepVerify: plan.Verify} {
		if schedule != nil {
			err = errors.Join(err, d.deps().PlanUpkeep(ctx, job))
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("keep the state of the upkeep")
	}
}

// waitFor waits for a time, for a change, or until ctx ends.
func waitFor[T any](ctx context.Context, d time.Duration, change <-chan T) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-change:
	}
}

// runUpkeepJob runs a job and logs its end. The operation keeps the result.
func (d *daemon) runUpkeepJob(ctx context.Context, job string, plan control.UpkeepPlan, state control.UpkeepState) {
	began := time.Now()
	operations := control.Operations(d.deps())
	var err error
	switch job {
	case control.UpkeepBackup:
		b := d.config().Backup
		_, err = control.Call[backup.Result](ctx, operations, "backup",
			control.BackupRequest{Destination: b.To, Keep: b.Keep, WithoutMedia: b.WithoutMedia, Scheduled: true}, nil)
	case control.UpkeepProve:
		_, err = control.Call[backup.Proof](ctx, operations, "prove", struct{}{}, nil)
	case control.UpkeepVerify:
		for _, slice := range plan.NextSlices(state, d.archive.Now()) {
			if err == nil {
				_, err = control.Call[archive.Verified](ctx, operations, "verify", control.VerifyRequest{Slice: slice, Slices: plan.Slices}, nil)
			}
		}
	}
	if ctx.Err() != nil {
		return // the daemon ends: the job counts for nothing
	}
	if e, ok := errors.AsType[*control.Error](err); ok && e.Kind == control.KindEnded {
		d.log.Info().Str("job", job).Str("reason", err.Error()).Msg("job ended early")
		return
	}
	if err != nil {
		d.log.Error().Err(err).Str("job", job).Msg("job failed")
		return
	}
	u, _ := d.deps().UpkeepState(ctx, job) // the next look reports a failure
	event := d.log.Info()
	if len(u.Warnings) > 0 || u.Damaged() > 0 {
		event = d.log.Warn()
	}
	event.Str("job", job).Dur("took", time.Since(began)).Str("result", u.Result).Strs("warnings", u.Warnings).Int("damages", u.Damaged()).Msg("job done")
}

// observe reads the state of everything, for metrics and notifications.
func (d *daemon) observe(ctx context.Context) (*control.StatusResult, error) {
	return d.deps().Observe(ctx)
}

// receiverReady returns the reason why no delivery can be received, or "".
func (d *daemon) receiverReady() string {
	c, err := net.DialTimeout("tcp", d.receiverListener.Addr().String(), time.Second)
	if err != nil {
		return "does not answer"
	}
	c.Close()
	return d.receiver.Obstacle()
}

// restInterval is how long the daemon has no work before it gives memory back: longer than
// connections to databases stay open without work.
const restInterval = 2 * time.Minute

// releaseAtRest gives memory back to the system each time the daemon comes to rest, until
// ctx ends.
func (d *daemon) releaseAtRest(ctx context.Context) error {
	process.ReleaseAtRest(ctx, restInterval, func() {
		if err := d.index.ReleasePages(); err != nil && ctx.Err() == nil {
			d.log.Warn().Err(err).Msg("release the pages of the search index")
		}
	})
	return nil
}
