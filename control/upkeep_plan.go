package control

import (
	"time"

	"github.com/robfig/cron/v3"

	"minutebook/internal/crontab"
)

// UpkeepPlan holds the schedules of the daemon's backups, their proofs and the checks.
type UpkeepPlan struct {
	Backup cron.Schedule // nil: never
	Verify cron.Schedule // nil: never
	Prove  time.Duration // between two proofs; 0: never
	Slices int           // of the checks
	To     string        // where the backups go
}

// proveAgain is how long after its end a proof that failed is tried again.
const proveAgain = 24 * time.Hour

// Next returns the next time of each job, by the states of the jobs. A time that has
// passed means now: a run that was missed while no daemon ran is made up. A backup or a check that
// failed is tried again, unless the schedule's next time comes first.
func (p UpkeepPlan) Next(states map[string]UpkeepState, now time.Time) map[string]time.Time {
	next := map[string]time.Time{}
	for job, schedule := range map[string]cron.Schedule{UpkeepBackup: p.Backup, UpkeepVerify: p.Verify} {
		if schedule == nil {
			continue
		}
		u := states[job]
		next[job] = schedule.Next(u.lastPlanned(now))
		if ended := u.ended(now); u.Error != "" && !ended.After(now) {
			next[job] = schedule.Next(ended)
			if again := ended.Add(crontab.RetryWait(u.Failures)); again.Before(next[job]) {
				next[job] = again
			}
		}
	}
	proof := states[UpkeepProve]
	switch {
	case p.Prove == 0 || !states[UpkeepBackup].isIn(p.To): // there is nothing to prove
	case proof.Began.IsZero() || proof.Began.After(now):
		if next[UpkeepProve] = states[UpkeepBackup].Succeeded; next[UpkeepProve].After(now) {
			next[UpkeepProve] = now
		}
	case proof.Error != "":
		next[UpkeepProve] = proof.ended(now).Add(min(proveAgain, p.Prove))
	default:
		next[UpkeepProve] = proof.Began.Add(p.Prove)
	}
	return next
}

// lastPlanned returns the time after which a job runs at the next time of its schedule: that
// of the last run, or of the reading of the schedule. A time ahead of the clock is wrong;
// without another one nothing was missed, until [Deps.PlanUpkeep] has noted the schedule.
func (u UpkeepState) lastPlanned(now time.Time) time.Time {
	for _, at := range []time.Time{u.Began, u.Planned} {
		if !at.IsZero() && !at.After(now) {
			return at
		}
	}
	return now
}

// isIn reports whether a backup was made in a place.
func (u UpkeepState) isIn(place string) bool { return u.Destination == place || u.Highest[place] != "" }

// NextSlices returns the slices to check now: one, and up to two more for nights on
// which no daemon ran, or the check failed.
func (p UpkeepPlan) NextSlices(u UpkeepState, now time.Time) (slices []int) {
	first := u.Slice
	if u.Slices != p.Slices || first >= p.Slices {
		first = 0
	}
	n, last := 1, u.Began
	if u.Error != "" && !u.Succeeded.IsZero() {
		last = u.Succeeded
	}
	if !last.IsZero() {
		n = min(max(int(now.Sub(last).Round(24*time.Hour)/(24*time.Hour)), 1), 3)
	}
	for i := range min(n, p.Slices) {
		slices = append(slices, (first+i)%p.Slices)
	}
	return slices
}
