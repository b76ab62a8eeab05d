package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/archive/backup"
	"minutebook/archive/generation"
	"minutebook/internal/phrase"
)

// isPlanned reports whether a place is the one of the daemon's backups.
func (h Deps) isPlanned(place string) bool {
	planned, err := generation.Absolute(h.Proof.From)
	return h.Proof.From != "" && err == nil && place == planned
}

// recordBackup notes a backup. One that a person makes in another place than the daemon ends
// neither the failure nor the warnings of the daemon's, and makes up for no missed run. Nor is its
// failure one of the daemon's; without a plan it counts in a place that has backups, since in
// others the path may be mistyped.
func (h Deps) recordBackup(ctx context.Context, q BackupRequest, began time.Time, r backup.Result, failure error) error {
	u, err := h.UpkeepState(ctx, UpkeepBackup)
	if err != nil {
		return errors.Join(failure, err)
	}
	result := fmt.Sprintf("%s in %s, %s", r.Generation, q.Destination, phrase.Meetings(r.Manifest.Meetings))
	isElsewhere, isMistyped := !q.Scheduled && !h.isPlanned(q.Destination), failure != nil && (h.Proof.From != "" || !u.isIn(q.Destination))
	if isElsewhere && (h.isPlanned(u.At) || isMistyped) {
		if ctx.Err() != nil || failure != nil {
			return failure
		}
		u.Succeeded, u.Result = began, result
		u.enter(q, r)
		return h.keepUpkeep(ctx, UpkeepBackup, u)
	}
	return h.recordUpkeep(ctx, UpkeepBackup, q.Scheduled, began, failure, func(u *UpkeepState) {
		u.At = q.Destination
		if failure != nil {
			return
		}
		u.Result = result
		u.Warnings = append([]string(nil), r.Doubts...)
		u.enter(q, r)
		if r.Gone != "" {
			_, newest := generation.SplitPath(r.Gone)
			u.Warnings = append(u.Warnings, fmt.Sprintf("%s had backups up to %s, which are gone: is its disk mounted, or did somebody delete them? If they are gone for good, run minutebook backup --accept-fewer once",
				q.Destination, newest))
		}
		u.Destination, u.Generation = q.Destination, r.Generation
		if n := len(r.Lost); n > 0 { // whose meetings not everybody may see who reads this
			u.Warnings = append(u.Warnings, phrase.Count(n, "recording is", "recordings are")+" not in the backup, and no older backup is removed; run minutebook verify --repair")
		}
	})
}

// enter notes the generation of a backup.
func (u *UpkeepState) enter(q BackupRequest, r backup.Result) {
	if u.Highest == nil {
		u.Highest = map[string]string{u.Destination: u.Generation}
		delete(u.Highest, "")
	}
	u.Highest[q.Destination] = r.Generation
}
