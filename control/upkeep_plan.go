package control

import (
	"time"

	"github.com/robfig/cron/v3"
)

// UpkeepPlan holds the schedules of the daemon's backups, their proofs and the checks.
type UpkeepPlan struct {
	Backup cron.Schedule // nil: never
	Verify cron.Schedule // nil: never
	Prove  time.Duration // between two proofs; 0: never
	Slices int           // of the checks
	// From is the start of the daemon, from which a job that never ran is planned.
	From time.Time
}

// proveAgain is the time after which a proof that failed is tried again.
const proveAgain = 24 * time.Hour

// Next returns the next time of each job, by the states of the jobs. A time that has
// passed means now: a run that was missed while no daemon ran is made up.
func (p UpkeepPlan) Next(states map[string]UpkeepState, now time.Time) map[string]time.Time {
	next := map[string]time.Time{}
	for job, schedule := range map[string]cron.Schedule{UpkeepBackup: p.Backup, UpkeepVerify: p.Verify} {
		if schedule == nil {
			continue
		}
		last := states[job].Began
		if last.IsZero() || last.After(now) { // it never ran, or by a wrong clock
			last = p.From
		}
		next[job] = schedule.Next(last)
	}
	proof := states[UpkeepProve]
	switch {
	case p.Prove == 0 || states[UpkeepBackup].Succeeded.IsZero():
	case proof.Began.IsZero() || proof.Began.After(now):
		next[UpkeepProve] = states[UpkeepBackup].Succeeded
	case proof.Error != "":
		next[UpkeepProve] = proof.Began.Add(min(proveAgain, p.Prove))
	default:
		next[UpkeepProve] = proof.Began.Add(p.Prove)
	}
	return next
}

// NextSlices returns the slices to check now: one, and up to two more for nights on
// which no daemon ran.
func (p UpkeepPlan) NextSlices(u UpkeepState, now time.Time) (slices []int) {
	first := u.Slice
	if u.Slices != p.Slices || first >= p.Slices {
		first = 0
	}
	n := 1
	if !u.Began.IsZero() {
		n = min(max(int(now.Sub(u.Began).Round(24*time.Hour)/(24*time.Hour)), 1), 3)
	}
	for i := range min(n, p.Slices) {
		slices = append(slices, (first+i)%p.Slices)
	}
	return slices
}
