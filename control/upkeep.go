package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/internal/diskspace"
	"minutebook/internal/guard"
	"minutebook/internal/phrase"
)

// The jobs of upkeep, which the daemon runs by schedule.
const (
	UpkeepBackup = "backup"
	UpkeepProve  = "prove"
	UpkeepVerify = "verify"
)

// UpkeepState is the outcome of the last runs of a job of upkeep, whether a schedule or
// a person began them.
type UpkeepState struct {
	Began     time.Time `json:"began,omitzero"`      // the last run
	Succeeded time.Time `json:"succeeded,omitzero"`  // when the last successful run began
	Scheduled bool      `json:"scheduled,omitempty"` // the last run was by schedule
	Seconds   float64   `json:"seconds,omitempty"`   // that the last run took
	Error     string    `json:"error,omitempty"`     // of the last run
	Failures  int       `json:"failures,omitempty"`  // runs that failed since the last successful one
	Rotten    bool      `json:"rotten,omitempty"`    // the last run failed since a backup is damaged
	Result    string    `json:"result,omitempty"`    // of the last successful run, in words
	// Warnings are the reasons why a backup that succeeded needs a person.
	Warnings []string `json:"warnings,omitempty"`
	// Destination has the last backup, in Generation.
	Destination string `json:"destination,omitempty"`
	Generation  string `json:"generation,omitempty"`
	// At is where the last backup went, or was to go; Highest has the last generation by place.
	At      string            `json:"at,omitempty"`
	Highest map[string]string `json:"highest,omitempty"`
	// Planned is when the schedule of a job of which no run is known was first read.
	Planned time.Time `json:"planned,omitzero"`
	// Next is the next time by the schedule, zero without one.
	Next time.Time `json:"next,omitzero"`
	// Slices is the division of the checks, Slice the next of them; Whole is when every
	// slice was last checked. Damages counts the damages left by slice.
	Slices  int         `json:"slices,omitempty"`
	Slice   int         `json:"slice,omitempty"`
	Whole   time.Time   `json:"whole,omitzero"`
	Damages map[int]int `json:"damages,omitempty"`
}

// ended returns when the last run ended, or when it began where that is ahead of the clock, which
// leapt meanwhile.
func (u UpkeepState) ended(now time.Time) time.Time {
	if at := u.Began.Add(time.Duration(u.Seconds * float64(time.Second))); !at.After(now) {
		return at
	}
	return u.Began
}

// isAbandoned reports whether nobody wants the last run any more: it was by a schedule, and
// there is none.
func (u UpkeepState) isAbandoned() bool { return u.Scheduled && u.Next.IsZero() }

// Damaged returns the number of damages that the checks have left.
func (u UpkeepState) Damaged() (n int) {
	for _, each := range u.Damages {
		n += each
	}
	return n
}

// Proof is how the daemon proves its backups: the directory of the newest one, and the
// file with the age keys or "".
type Proof struct{ From, Identity string }

func upkeepKey(job string) string { return "upkeep/" + job }

// readUpkeep returns the state of a job as it is kept.
func readUpkeep(ctx context.Context, a *archive.Archive, job string) (u UpkeepState, err error) {
	raw, err := a.Mark(ctx, upkeepKey(job))
	if err == nil && raw != nil {
		if err = json.Unmarshal(raw, &u); err != nil {
			err = fmt.Errorf("read the state of %s: %w", job, err)
		}
	}
	return u, err
}

// UpkeepState returns the state of a job.
func (h Deps) UpkeepState(ctx context.Context, job string) (UpkeepState, error) {
	if u, ok := h.Activities.unkept(job); ok {
		return u, nil
	}
	return readUpkeep(ctx, h.Archive, job)
}

// keepUpkeep keeps the state of a job: in memory where the archive takes nothing, as on a
// full disk, so that the job is not run again and again and people are told of its failure.
func (h Deps) keepUpkeep(ctx context.Context, job string, u UpkeepState) error {
	raw, err := json.Marshal(u)
	if err == nil {
		err = h.Archive.SetMarks(ctx, archive.Mark{Key: upkeepKey(job), Value: raw})
	}
	h.Activities.setUnkept(job, u, err != nil)
	return err
}

// PlanUpkeep notes that a job which has never run, or whose runs a wrong clock has dated in
// the future, has a schedule: from now on its runs count as missed.
func (h Deps) PlanUpkeep(ctx context.Context, job string) error {
	u, err := h.UpkeepState(ctx, job)
	now := h.Archive.Now()
	if err != nil || u.lastPlanned(now).Before(now) {
		return err
	}
	u.Planned = now
	return h.keepUpkeep(ctx, job, u)
}

// recordUpkeep changes the state of a job after a run, by schedule or not. A run that the
// caller gave up counts for nothing. change notes the rest, also of a run that failed.
func (h Deps) recordUpkeep(ctx context.Context, job string, scheduled bool, began time.Time, failure error, change func(*UpkeepState)) error {
	if ctx.Err() != nil {
		return failure
	}
	u, err := h.UpkeepState(ctx, job)
	if err != nil {
		return errors.Join(failure, err)
	}
	_, u.Rotten = errors.AsType[*generation.DamagedError](failure)
	u.Began, u.Scheduled, u.Seconds, u.Error, u.Planned = began, scheduled, h.Archive.Now().Sub(began).Seconds(), "", time.Time{}
	if failure != nil {
		u.Error = phrase.Error(failure)
		u.Failures++
	} else {
		u.Succeeded, u.Failures = began, 0
	}
	change(&u)
	return errors.Join(failure, h.keepUpkeep(ctx, job, u))
}

// earlierDivision is the slice that stands for the damages found before the checks were
// divided otherwise.
const earlierDivision = -1

// recordVerify notes a check of the archive, or of a slice of it.
func (h Deps) recordVerify(ctx context.Context, q VerifyRequest, began time.Time, v archive.Verified, failure error) error {
	if q.SkipMedia {
		return failure
	}
	return h.recordUpkeep(ctx, UpkeepVerify, q.Slices > 0, began, failure, func(u *UpkeepState) {
		if failure != nil {
			return
		}
		left := v.Lost
		for _, n := range v.Damages {
			left += n
		}
		switch {
		case q.Slices < 2:
			u.Damages, u.Slices = map[int]int{}, q.Slices
		case q.Slices != u.Slices: // earlier damage stays until all is checked by the new division
			u.Slices, u.Damages = q.Slices, map[int]int{earlierDivision: u.Damaged()}
		}
		delete(u.Damages, q.Slice)
		if left > 0 {
			if u.Damages == nil { // none were kept
				u.Damages = map[int]int{}
			}
			u.Damages[q.Slice] = left
		}
		u.Result = fmt.Sprintf("%s, %s, %s checked", phrase.Meetings(v.Meetings), phrase.Count(v.Revisions, "version", "versions"), phrase.Recordings(v.Recordings))
		if u.Slice = q.Slice + 1; u.Slice >= q.Slices {
			u.Slice, u.Whole = 0, began
			delete(u.Damages, earlierDivision)
		}
	})
}

// guarded calls fn. A panic fails this operation and does not end the daemon.
func guarded[T any](h Deps, operation string, fn func() (T, error)) (result T, err error) {
	err = guard.Run(h.Logger, operation, func() (err error) {
		result, err = fn()
		return err
	})
	return result, err
}

// prove restores the newest backup of the daemon for a try. A proof during which a meeting
// was forgotten, which the backup may have, counts for nothing, and is still due.
func (h Deps) prove(ctx context.Context, _ struct{}, _ Emit) (backup.Proof, error) {
	began := h.Archive.Now()
	p, err := guarded(h, UpkeepProve, func() (backup.Proof, error) { return h.proveNewest(ctx) })
	if errors.Is(err, archive.ErrForgottenMeanwhile) {
		return p, err
	}
	return p, h.recordUpkeep(ctx, UpkeepProve, true, began, err, func(u *UpkeepState) {
		if err != nil {
			return
		}
		u.Result = fmt.Sprintf("%s of %s, %s, restored and verified", p.Generation, p.TakenAt.UTC().Format(time.DateTime), phrase.Meetings(p.Meetings))
		if !p.Restored {
			u.Result = fmt.Sprintf("%s of %s, %s, compared with its hashes; set backup.identity_file to have it restored too",
				p.Generation, p.TakenAt.UTC().Format(time.DateTime), phrase.Meetings(p.Meetings))
		}
	})
}

func (h Deps) proveNewest(ctx context.Context) (backup.Proof, error) {
	if h.Proof.From == "" {
		return backup.Proof{}, errors.New("prove the backup: set backup.to, the directory of backups")
	}
	keys, err := ReadIdentities(h.Proof.Identity)
	if err != nil {
		return backup.Proof{}, err
	}
	if err := h.checkRoom(); err != nil {
		return backup.Proof{}, err
	}
	ctx, done := h.Archive.UntilForget(ctx)
	defer done()
	p, err := backup.Prove(ctx, backup.ProofOptions{From: h.Proof.From, Scratch: filepath.Join(h.Archive.Dir(), archive.ProofDir),
		OldData: h.Archive.Dir(), Identities: keys, Now: h.Archive.Now})
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, archive.ErrForgottenMeanwhile) {
		err = fmt.Errorf("prove the backup: %w; it is tried again", cause)
	}
	return p, err
}

// checkRoom fails when the databases do not fit a second time on their disk.
func (h Deps) checkRoom() error {
	names, err := fs.Glob(os.DirFS(h.Archive.Dir()), "*.db")
	if err != nil {
		return fmt.Errorf("prove the backup: %w", err)
	}
	var need int64
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(h.Archive.Dir(), name)); err == nil {
			need += info.Size()
		}
	}
	if err := diskspace.CheckRoom(h.Archive.Dir(), need); err != nil {
		return fmt.Errorf("prove the backup: %w", err)
	}
	return nil
}
