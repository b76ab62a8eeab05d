package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"minutebook/internal/sqlite"
)

// Forgotten is the outcome of a Forget.
type Forgotten struct {
	RecordingID int64
	Recordings  int      // recordings deleted, those that no other meeting has
	Copies      []string // copies from before a migration, deleted
	Backups     []string // backups that still hold the meeting: theirs to delete
}

// eraser is a room's way to let go of a meeting.
type eraser struct {
	name string
	fn   func(ctx context.Context, id int64) error
}

// OnForget has Forget call fn for every meeting that is forgotten, after the
// archive has let go of it. fn erases what its room holds and returns when that
// is so on disk; it is called again, also for what it erased before, when
// anything failed. Rooms register it before they begin to follow the archive; the
// last one with a name counts, for a room that was closed and opened again.
func (a *Archive) OnForget(name string, fn func(ctx context.Context, id int64) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(a.erasers), func(e eraser) bool { return e.name == name })
	a.erasers = append(next, eraser{name, fn})
}

// Forget erases a meeting for good: its revisions and rows, deliveries' bodies,
// the recordings that no other meeting has, copies of the database from before
// a migration, and what every room registered with OnForget holds. What stays is
// its id, as a tombstone that keeps it from coming back, and a line of the audit
// with the reason. It returns without an error only when all of that is done.
// Interrupted or failed, the meeting is no longer readable, and Forget or
// FinishForgetting goes on. It fails with ErrNotFound for a meeting that was never held.
func (a *Archive) Forget(ctx context.Context, id int64, reason string) (Forgotten, error) {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		switch err := known(ctx, tx, id); {
		case errors.Is(err, ErrForgotten):
			return nil // begun before; the rest is done below
		case err != nil:
			return err
		}
		return a.bury(ctx, tx, id, reason)
	})
	if err == nil {
		var f Forgotten
		if f, err = a.finishForgetting(ctx, id); err == nil {
			return f, nil
		}
	}
	return Forgotten{}, fmt.Errorf("forget meeting %d: %w", id, err)
}

// FinishForgetting goes on where a crash or a failure interrupted Forget. It is
// called once all rooms have registered with OnForget.
func (a *Archive) FinishForgetting(ctx context.Context) error {
	ids, err := a.unfinished(ctx)
	if err != nil {
		return fmt.Errorf("finish forgetting: %w", err)
	}
	for _, id := range ids {
		if _, err := a.finishForgetting(ctx, id); err != nil {
			return fmt.Errorf("finish forgetting meeting %d: %w", id, err)
		}
	}
	return nil
}

// Tombstones returns the meetings that were forgotten, rising, and those of them
// whose erasure is not finished.
func (a *Archive) Tombstones(ctx context.Context) (all, open []int64, err error) {
	all, err = sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM tombstones ORDER BY 1`)
	if err == nil {
		open, err = a.unfinished(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read tombstones: %w", err)
	}
	return all, open, nil
}

// unfinished returns the meetings whose erasure is not finished.
func (a *Archive) unfinished(ctx context.Context) ([]int64, error) {
	return sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM tombstones WHERE done_at IS NULL ORDER BY 1`)
}

// finishForgetting does everything after the tombstone; all of it can be done
// twice.
func (a *Archive) finishForgetting(ctx context.Context, id int64) (Forgotten, error) {
	f := Forgotten{RecordingID: id}
	var err error
	if f.Recordings, err = a.dropBlobs(ctx, id); err != nil {
		return f, err
	}
	if err := a.dropDamaged(ctx, id); err != nil {
		return f, err
	}
	if err := a.dropPartial(id); err != nil {
		return f, err
	}
	if err := a.inbox.ForgetRecording(ctx, id); err != nil {
		return f, err
	}
	a.mu.Lock()
	erasers := a.erasers
	a.mu.Unlock()
	for _, e := range erasers {
		if err := e.fn(ctx, id); err != nil {
			return f, fmt.Errorf("%s still holds something of it: %w", e.name, err)
		}
	}
	for _, db := range a.allDBs() {
		copies, err := db.DropCopies()
		if err != nil {
			return f, err
		}
		f.Copies = append(f.Copies, copies...)
		if err := db.TruncateWAL(ctx); err != nil {
			return f, err
		}
	}
	if f.Backups, err = a.backupsWith(ctx, id); err != nil {
		return f, err
	}
	_, err = a.db.W.ExecContext(ctx, `UPDATE tombstones SET done_at = ?, blobs = '[]' WHERE recording_id = ?`, a.now().UnixMilli(), id)
	return f, err
}

// dropBlobs deletes the recordings that a tombstone names and nothing else has.
func (a *Archive) dropBlobs(ctx context.Context, id int64) (int, error) {
	var list string
	err := a.db.R.QueryRowContext(ctx, `SELECT blobs FROM tombstones WHERE recording_id = ?`, id).Scan(&list)
	if err != nil {
		return 0, err
	}
	var blobs []string
	if err := json.Unmarshal([]byte(list), &blobs); err != nil {
		return 0, fmt.Errorf("read which recordings to delete: %w", err)
	}
	dropped := 0
	for _, sha := range blobs {
		gone, err := a.DropBlob(ctx, sha)
		if err != nil {
			return dropped, err
		}
		if gone {
			dropped++
		}
	}
	return dropped, nil
}

// DropBlob deletes a blob from the store unless a meeting has it, and tells
// whether it did.
func (a *Archive) DropBlob(ctx context.Context, sha string) (bool, error) {
	a.blobs.Lock()
	defer a.blobs.Unlock()
	var used bool
	err := a.db.W.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM attachments WHERE sha256 = ?)`, sha).Scan(&used)
	if err != nil || used {
		return false, err
	}
	_, err = a.media.Stat(ctx, sha)
	return !errors.Is(err, ErrNotFound), a.media.Delete(ctx, sha) // parts of it may be there without it
}
