package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/merge"
	"minutebook/search"
	"minutebook/service"
	"minutebook/web/access"
)

// VerifyRequest has the options of verify.
type VerifyRequest struct {
	Repair bool `json:"repair"`
	// From is the absolute path of a directory of backups for a repair. Identity is
	// the file with its keys.
	From      string `json:"from,omitempty"`
	Identity  string `json:"identity,omitempty"`
	SkipMedia bool   `json:"skip_media"`
	// Slice of Slices is checked; Slices of 0 checks everything.
	Slice  int `json:"slice,omitempty"`
	Slices int `json:"slices,omitempty"`
}

// Maintenance is an event of verify and rebuild: its progress, or a damage.
type Maintenance struct {
	Stage  string          `json:"stage,omitempty"`
	Done   int             `json:"done,omitempty"`
	Total  int             `json:"total,omitempty"`
	Damage *archive.Damage `json:"damage,omitempty"`
}

// sourceError is a fault of the backups that a repair is to read: the archive was not looked at.
type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// verify checks the archive and the index. Its events are its progress and the damages.
func (h Deps) verify(ctx context.Context, q VerifyRequest, emit Emit) (*archive.Verified, error) {
	began := h.Archive.Now()
	sum, err := guarded(h, UpkeepVerify, func() (*archive.Verified, error) { return h.check(ctx, q, emit) })
	if source := (sourceError{}); errors.As(err, &source) || errors.Is(err, archive.ErrForgottenMeanwhile) {
		return nil, err
	}
	if err != nil {
		return nil, h.recordVerify(ctx, q, began, archive.Verified{}, err)
	}
	return sum, h.recordVerify(ctx, q, began, *sum, nil)
}

// checkArchive checks the archive alone. Forget ends a repair from backups, which unpacks
// their databases.
func (h Deps) checkArchive(ctx context.Context, q VerifyRequest, emit Emit) (sum archive.Verified, err error) {
	o := archive.VerifyOptions{Repair: q.Repair, SkipMedia: q.SkipMedia, AskAgain: h.askAgain, Slice: q.Slice, Slices: q.Slices,
		Progress: func(stage string, done, total int) { _ = emit(Maintenance{Stage: stage, Done: done, Total: total}) }}
	if q.Repair && q.From != "" {
		keys, failed := ReadIdentities(q.Identity)
		if failed != nil {
			return sum, sourceError{failed}
		}
		var done func()
		ctx, done = h.Archive.UntilForget(ctx)
		defer func() {
			if cause := context.Cause(ctx); err != nil && errors.Is(cause, archive.ErrForgottenMeanwhile) {
				err = fmt.Errorf("repair from %s: %w; run it again for the rest", q.From, cause)
			}
			done()
		}()
		if o.From, err = h.Archive.OpenBackupSource(ctx, q.From, keys...); err != nil {
			return sum, sourceError{err}
		}
		defer o.From.Close()
	}
	return h.Archive.Verify(ctx, o, func(d archive.Damage) { _ = emit(Maintenance{Damage: &d}) })
}

// check checks the archive, and with slice 0 the index, the audit and the notes.
func (h Deps) check(ctx context.Context, q VerifyRequest, emit Emit) (*archive.Verified, error) {
	if unfinished, _, err := h.Archive.Forgetting(ctx); q.Repair && err == nil && unfinished > 0 { // which a repair finishes
		if err := h.openErasers(ctx); err != nil {
			return nil, err
		}
	}
	sum, err := h.checkArchive(ctx, q, emit)
	if err != nil {
		return nil, err
	}
	if q.Slice > 0 {
		return &sum, nil
	}
	damages, err := h.verifyIndex(ctx, q.Repair)
	if err != nil {
		return nil, err
	}
	breaks, err := h.verifyAudit(ctx)
	if err != nil {
		return nil, err
	}
	remains, err := h.verifyNotes(ctx, q.Repair)
	if err != nil {
		return nil, err
	}
	damages = append(append(damages, breaks...), remains...)
	for _, d := range damages {
		if d.Repaired {
			sum.Repaired++
		} else {
			sum.Damages[d.Class]++
		}
		_ = emit(Maintenance{Damage: &d})
	}
	return &sum, nil
}

// askAgain requests the content of a meeting again, through an account that still
// sees the meeting.
func (h Deps) askAgain(ctx context.Context, id int64) (string, error) {
	if h.Syncer == nil {
		return "", nil
	}
	s, err := h.Syncer(ctx)
	if err != nil {
		return "", err
	}
	return s.Refetch(ctx, id)
}

// verifyIndex checks the index against its checksums and the archive. A repair
// builds it anew, which loses nothing.
func (h Deps) verifyIndex(ctx context.Context, repair bool) ([]archive.Damage, error) {
	path := filepath.Join(h.Archive.Dir(), "index")
	broken := func(finding string) []archive.Damage {
		return []archive.Damage{{Class: archive.DamageIndex, Path: path, What: finding}}
	}
	index, err := h.Index(ctx)
	if err != nil {
		return broken(err.Error()), ctx.Err()
	}
	if at, bad, err := h.Archive.CheckCursor(ctx, "the search index", path, index.Progress().Position); err != nil {
		return nil, err
	} else if bad {
		at.Repaired = repair && index.CatchUp(ctx) == nil
		return []archive.Damage{at}, ctx.Err()
	}
	if err := index.CatchUp(ctx); err != nil {
		return broken("it does not catch up with the archive: " + err.Error()), ctx.Err()
	}
	var damages []archive.Damage
	if err := index.Check(ctx); err != nil {
		damages = broken(err.Error())
	} else if damages, err = compareIndex(ctx, index, path); err != nil {
		damages = broken(err.Error())
	}
	if ctx.Err() != nil || len(damages) == 0 {
		return nil, ctx.Err()
	}
	repaired := repair && index.CatchUp(ctx) == nil && index.Check(ctx) == nil
	for i := range damages {
		damages[i].Repaired = repaired
	}
	return damages, ctx.Err()
}

// compareIndex returns a damage for each meeting that only the index or only the
// archive has.
func compareIndex(ctx context.Context, index *search.Index, path string) ([]archive.Damage, error) {
	absent, extra, err := index.Compare(ctx)
	if err != nil {
		return nil, err
	}
	var damages []archive.Damage
	for _, id := range absent {
		damages = append(damages, archive.Damage{Class: archive.DamageIndex, Path: path, RecordingID: id, What: "the index is behind: it does not have this meeting"})
	}
	for _, id := range extra {
		damages = append(damages, archive.Damage{Class: archive.DamageIndexExtra, Path: path, RecordingID: id, What: "the index has this meeting and the archive has not"})
	}
	return damages, nil
}

// rebuild derives all rows again.
func (h Deps) rebuild(ctx context.Context, _ struct{}, emit Emit) (*archive.Counts, error) {
	err := h.Archive.Rebuild(ctx, func(done, total int) { _ = emit(Maintenance{Stage: "meetings", Done: done, Total: total}) })
	if err != nil {
		return nil, err
	}
	counts, err := h.Archive.Counts(ctx)
	return &counts, err
}

// ForgetRequest names the meeting to erase, and the reason.
type ForgetRequest struct {
	RecordingID int64  `json:"recording_id"`
	Reason      string `json:"reason"`
	// Backups replaces the generations that contain the meeting by a new one.
	// Recipients are the keys for encrypted backups, instead of the configured ones.
	Backups    bool     `json:"backups,omitempty"`
	Recipients []string `json:"recipients,omitempty"`
}

// openErasers opens the index, the service's queue and the notes, if there are any: they erase
// the meetings that the archive forgets. While the index does not open, no erasing is finished.
func (h Deps) openErasers(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(h.Archive.Dir(), "index")); err == nil {
		if _, err := h.Index(ctx); err != nil {
			h.Archive.OnForget("the search index", func(context.Context, int64) error { return err })
		}
	}
	if _, err := os.Stat(filepath.Join(h.Archive.Dir(), service.DatabaseName)); err == nil && h.Service != nil {
		if _, err := h.Service(ctx); err != nil {
			return err
		}
	}
	_, err := h.openNotes(ctx)
	return err
}

// forget erases a meeting. It opens the service's queue, the notes and the index, so
// that they erase it too before forget returns.
func (h Deps) forget(ctx context.Context, q ForgetRequest, _ Emit) (*archive.Forgotten, error) {
	if q.Reason == "" {
		return nil, errors.New("forget a meeting: give the reason, which the audit keeps")
	}
	if err := h.openErasers(ctx); err != nil {
		return nil, fmt.Errorf("forget meeting %d: %w", q.RecordingID, err)
	}
	if _, err := h.Index(ctx); err != nil {
		return nil, fmt.Errorf("forget meeting %d: %w", q.RecordingID, err)
	}
	if err := h.recordEvent(ctx, access.Forgot, access.IDs{Meeting: q.RecordingID}); err != nil {
		return nil, err
	}
	f, err := h.Archive.Forget(ctx, q.RecordingID, q.Reason)
	if errors.Is(err, archive.ErrNotFound) {
		return nil, noMeeting(q.RecordingID, time.Time{})
	}
	if err != nil || !q.Backups || len(f.Backups) == 0 {
		return &f, err
	}
	failed := h.replaceBackups(ctx, &f, q.Recipients)
	left, err := h.Archive.Forget(ctx, q.RecordingID, q.Reason) // it names the remaining backups
	f.Backups, f.Logs = left.Backups, left.Logs
	if failed == nil && len(f.Backups) > 0 {
		failed = errors.New("where their disk is away, mount it and forget the meeting again with --backups; delete others by hand")
	}
	if err == nil && failed != nil {
		err = fmt.Errorf("meeting %d is forgotten here, and is still in backups (%s): %w", q.RecordingID, strings.Join(f.Backups, ", "), failed)
	}
	return &f, err
}

// HistoryRequest asks for the versions of a meeting, or with From for the
// differences between two times. A zero To means now.
type HistoryRequest struct {
	RecordingID int64     `json:"recording_id"`
	From        time.Time `json:"from,omitzero"`
	To          time.Time `json:"to,omitzero"`
}

// HistoryResult has the versions or the differences.
type HistoryResult struct {
	Revisions   []archive.Revision `json:"revisions,omitempty"`
	Differences []merge.Difference `json:"differences,omitempty"`
}

func (h Deps) history(ctx context.Context, q HistoryRequest, _ Emit) (*HistoryResult, error) {
	revisions, err := h.Archive.Revisions(ctx, q.RecordingID)
	if errors.Is(err, archive.ErrNotFound) {
		return nil, noMeeting(q.RecordingID, time.Time{})
	}
	if err != nil || q.From.IsZero() {
		return &HistoryResult{Revisions: revisions}, err
	}
	old, err := h.Archive.PartsAt(ctx, q.RecordingID, q.From)
	if errors.Is(err, archive.ErrNotFound) {
		return nil, noMeeting(q.RecordingID, q.From)
	}
	if err != nil {
		return nil, err
	}
	now, err := h.Archive.PartsOf(ctx, q.RecordingID)
	if err == nil && !q.To.IsZero() {
		now, err = h.Archive.PartsAt(ctx, q.RecordingID, q.To)
	}
	if err != nil {
		return nil, err
	}
	return &HistoryResult{Differences: merge.DiffParts(old, now)}, nil
}

func (h Deps) stats(ctx context.Context, _ struct{}, _ Emit) (*archive.Stats, error) {
	s, err := h.Archive.Stats(ctx)
	return &s, err
}

// showAt returns a meeting's JSON at a time in the past.
func (h Deps) showAt(ctx context.Context, q ShowRequest) (json.RawMessage, error) {
	return h.Archive.MeetingJSONAt(ctx, q.RecordingID, q.At)
}
