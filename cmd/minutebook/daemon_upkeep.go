package main

import (
	"context"
	"net"
	"time"

	"github.com/robfig/cron/v3"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/pause"
)

// upkeepEvery is how often the daemon looks whether a job of upkeep is due.
const upkeepEvery = time.Minute

// upkeepPlan reads the plan of backups, proofs and checks from the configuration.
func upkeepPlan(cfg *config.Config, from time.Time) (p control.UpkeepPlan, err error) {
	zone, err := time.LoadLocation(cfg.Sync.TimeZone)
	if err != nil {
		return p, err
	}
	p = control.UpkeepPlan{Prove: config.ProofPeriods()[cfg.Backup.Prove], Slices: cfg.Verify.Days, From: from}
	if cfg.Backup.To == "" {
		p.Prove = 0
	}
	for expr, schedule := range map[string]*cron.Schedule{cfg.Backup.Schedule: &p.Backup, cfg.Verify.Schedule: &p.Verify} {
		if expr == "" {
			continue
		}
		if *schedule, err = config.ParseCron(expr, zone); err != nil {
			return p, err
		}
	}
	return p, nil
}

// nextUpkeep returns the next times of the jobs of upkeep, for status.
func (d *daemon) nextUpkeep() map[string]time.Time {
	plan, err := upkeepPlan(d.config(), d.began)
	if err != nil {
		return nil
	}
	return plan.Next(d.upkeepStates(context.Background()), d.archive.Now())
}

func (d *daemon) upkeepStates(ctx context.Context) map[string]control.UpkeepState {
	states := map[string]control.UpkeepState{}
	for _, job := range []string{control.UpkeepBackup, control.UpkeepProve, control.UpkeepVerify} {
		u, err := control.ReadUpkeep(ctx, d.archive, job)
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Str("job", job).Msg("read the state of a job")
		}
		states[job] = u
	}
	return states
}

// runUpkeep makes backups, proves them and checks the archive by schedule, one job at
// a time, until ctx ends.
func (d *daemon) runUpkeep(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := d.deps().SampleDisk(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn().Err(err).Msg("keep the free space of today")
		}
		plan, err := upkeepPlan(d.config(), d.began)
		if err != nil {
			return err
		}
		for _, job := range []string{control.UpkeepBackup, control.UpkeepProve, control.UpkeepVerify} {
			states, now := d.upkeepStates(ctx), d.archive.Now()
			if at, ok := plan.Next(states, now)[job]; ok && !at.IsZero() && !at.After(now) {
				d.runUpkeepJob(ctx, job, plan, states[job])
			}
		}
		_ = pause.For(ctx, upkeepEvery)
	}
	return nil
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
			control.BackupRequest{Destination: b.To, Keep: b.Keep, WithoutMedia: b.WithoutMedia}, nil)
	case control.UpkeepProve:
		_, err = control.Call[backup.Proof](ctx, operations, "prove", struct{}{}, nil)
	case control.UpkeepVerify:
		for _, slice := range plan.NextSlices(state, d.archive.Now()) {
			if err == nil {
				_, err = control.Call[archive.Verified](ctx, operations, "verify", control.VerifyRequest{Slice: slice, Slices: plan.Slices}, nil)
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		d.log.Error().Err(err).Str("job", job).Msg("job failed")
		return
	}
	u, _ := control.ReadUpkeep(ctx, d.archive, job) // the next look reports a failure
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
	return ""
}
