package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/archive/media"
	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
)

// Forgotten is the result of [Archive.Forget].
type Forgotten struct {
	RecordingID int64
	Recordings  int      // deleted recordings, which no other meeting has
	Copies      []string // deleted copies from before a migration
	Backups     []string // backups that still contain the meeting
	Versions    []string // buckets in which deleted files of it stay as versions
	Unreadable  []string // files put aside and damaged deliveries that may be about it, and are kept
	// Logs are the databases whose logs still hold it, because other programs read them.
	// [Archive.FinishForgetting] empties them once those have ended.
	Logs []string
}

// eraser is a room's function that erases a meeting.
type eraser struct {
	name string
	fn   func(ctx context.Context, id int64) error
}

// OnForget makes [Archive.Forget] call fn for every forgotten meeting after the
// archive has erased it. fn erases the room's data and returns when that is durable.
// After a failure it is called again, also for data it has erased before. Rooms
// register before they begin to follow the archive. The last registration of a name
// counts, for a room that was closed and opened again.
func (a *Archive) OnForget(name string, fn func(ctx context.Context, id int64) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(a.erasers), func(e eraser) bool { return e.name == name })
	a.erasers = append(next, eraser{name, fn})
}

// Forget erases a meeting for good: its revisions and rows, the bodies of its
// deliveries, the recordings that no other meeting has, copies of the database from
// before a migration, and the data of every room registered with OnForget. Its id
// and the hashes of its recordings stay as a tombstone, so that it cannot come back, and
// the audit keeps a line with the reason. Forget returns nil only when all of that is done, but for the
// logs that another program reads: it waits for each of them for some seconds, and then
// names them. After an
// interruption or a failure the meeting is no longer readable, and Forget or
// FinishForgetting goes on. A meeting that was only received and not applied yet is
// forgotten too. It fails with ErrNotFound for a meeting that neither the archive nor
// the inbox has.
func (a *Archive) Forget(ctx context.Context, id int64, reason string) (Forgotten, error) {
	received, err := a.inbox.Mentions(ctx, id)
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget meeting %d: %w", id, err)
	}
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		switch err := checkKnown(ctx, tx, id); {
		case errors.Is(err, ErrForgotten):
			return nil // begun before; the rest is done below
		case errors.Is(err, ErrNotFound) && received:
		case err != nil:
			return err
		}
		return a.deleteRows(ctx, tx, id, reason)
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget meeting %d: %w", id, err)
	}
	done, err := a.finishForgetting(ctx, id)
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget: %w; nobody is shown it any more, and the daemon or forget again erases the rest", err)
	}
	return done[0], nil
}

// FinishForgetting finishes interrupted erasures. It is called once all rooms have
// registered with OnForget, and again while it fails: with [sqlite.ErrLogRead] while
// another program reads a log that still holds a forgotten meeting.
func (a *Archive) FinishForgetting(ctx context.Context) error {
	ids, err := a.readUnfinished(ctx)
	if err != nil {
		return fmt.Errorf("finish forgetting: %w", err)
	}
	done, err := a.finishForgetting(ctx, ids...)
	if err != nil {
		return fmt.Errorf("finish forgetting: %w", err)
	}
	if len(done) > 0 && len(done[0].Logs) > 0 {
		return fmt.Errorf("finish forgetting %s: empty the log of %s: %w", phrase.Meetings(len(ids)), strings.Join(done[0].Logs, ", "), sqlite.ErrLogRead)
	}
	return nil
}

// Forgetting returns how many erasures are unfinished, and the databases whose logs they
// wait for.
func (a *Archive) Forgetting(ctx context.Context) (unfinished int, logs []string, err error) {
	ids, err := a.readUnfinished(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		logs = append(logs, a.erased[id].Logs...)
	}
	slices.Sort(logs)
	return len(ids), slices.Compact(logs), err
}

// Tombstones returns the forgotten meetings in rising order, and those whose erasure
// is not finished.
func (a *Archive) Tombstones(ctx context.Context) (all, open []int64, err error) {
	all, err = sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM tombstones ORDER BY 1`)
	if err == nil {
		open, err = a.readUnfinished(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read tombstones: %w", err)
	}
	return all, open, nil
}

// readUnfinished returns the meetings whose erasure is not finished.
func (a *Archive) readUnfinished(ctx context.Context) ([]int64, error) {
	return sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM tombstones WHERE done_at IS NULL ORDER BY 1`)
}

// erasure is the state of the erasing of a meeting.
type erasure struct {
	Forgotten
	cleared bool     // an earlier try erased all but the recordings
	onlyLog bool     // nothing but logs is left
	aside   []string // recordings that were put aside, and are deleted
	err     error    // why it is not finished
}

// note adds a reason why the erasing is not finished; of the bucket it is said once.
func (e *erasure) note(err error) {
	if !media.IsUnavailable(e.err) || !media.IsUnavailable(err) {
		e.err = errors.Join(e.err, err)
	}
}

// finishForgetting does everything after the tombstones, for all meetings together. All of
// it can be repeated; while only logs are left, it tries no more than these, and does not
// wait for them again. Neither a meeting that fails nor a bucket that is away keeps the rest
// from being erased: words go first, then the recordings, and the backups are looked at last.
func (a *Archive) finishForgetting(ctx context.Context, ids ...int64) (done []Forgotten, err error) {
	var all, first, again []*erasure
	a.mu.Lock()
	for _, id := range ids {
		f, onlyLog := a.erased[id]
		f.RecordingID = id
		e := &erasure{Forgotten: f, onlyLog: onlyLog, cleared: a.cleared[id]}
		if all = append(all, e); !e.cleared {
			first = append(first, e)
		}
	}
	a.mu.Unlock()
	failed := a.eraseWords(ctx, first)
	err = a.eraseRecordings(ctx, all)
	for _, e := range all {
		if e.cleared && e.err == nil {
			again = append(again, e)
		}
	}
	if failed = errors.Join(failed, a.eraseWords(ctx, again)); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	for _, e := range all {
		if e.err == nil {
			e.Backups, e.err = a.backupsWith(ctx, e.RecordingID)
		}
		switch {
		case e.err == nil:
			done = append(done, e.Forgotten)
		case !errors.Is(e.err, errWaits):
			err = errors.Join(fmt.Errorf("meeting %d: %w", e.RecordingID, e.err), err)
		}
	}
	if len(done) > 0 {
		a.noteForgotten(ctx)
	}
	for _, f := range done {
		if len(f.Logs) == 0 {
			_, failed := a.db.ExecContext(ctx, `UPDATE tombstones SET done_at = ? WHERE recording_id = ?`, a.now().UnixMilli(), f.RecordingID)
			err = errors.Join(err, failed)
		}
		a.mu.Lock()
		delete(a.cleared, f.RecordingID)
		if delete(a.erased, f.RecordingID); len(f.Logs) > 0 {
			a.erased[f.RecordingID] = f
		}
		a.mu.Unlock()
	}
	return done, err
}

// eraseWords erases meetings everywhere but in archive.db, where they are erased already, and
// but for their recordings, and then clears the databases. It asks no server. Meanwhile no
// copying begins.
func (a *Archive) eraseWords(ctx context.Context, meetings []*erasure) error {
	if len(meetings) == 0 {
		return nil
	}
	if err := a.forgetting.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.forgetting.Release(1)
	wait := false
	var logs []string // of the databases that are left
	for _, e := range meetings {
		if e.onlyLog {
			logs = append(logs, e.Logs...)
			continue
		}
		a.eraseEverywhere(ctx, e)
		a.merged.forget(e.RecordingID)
		wait = wait || !e.cleared || e.err == nil
	}
	databases := a.Databases()
	if !wait { // of those whose other steps fail again, the databases are cleared already
		databases = slices.DeleteFunc(databases, func(db *sqlite.DB) bool { return !slices.Contains(logs, filepath.Base(db.Path)) })
	}
	copies, logs, err := eraseInDatabases(ctx, databases, wait)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range meetings {
		e.Copies, e.Logs = append(e.Copies, copies...), logs
		a.cleared[e.RecordingID] = e.err == nil && !e.onlyLog && len(logs) == 0
	}
	return nil
}

// eraseInDatabases overwrites deleted rows wherever the databases have them, and returns the
// copies of databases that it deleted and the databases whose logs somebody reads. It waits
// for these readers only on demand.
func eraseInDatabases(ctx context.Context, databases []*sqlite.DB, wait bool) (copies, logs []string, err error) {
	for _, db := range databases {
		dropped, err := db.DropCopies()
		if err != nil {
			return nil, nil, err
		}
		copies = append(copies, dropped...)
		erased, err := db.EraseGaps(ctx)
		if err == nil && !erased && wait {
			if err = db.TruncateWAL(ctx); err == nil {
				erased, err = db.EraseGaps(ctx)
			}
		}
		if err != nil && !errors.Is(err, sqlite.ErrLogRead) {
			return nil, nil, err
		}
		if !erased {
			logs = append(logs, filepath.Base(db.Path))
		}
	}
	slices.Sort(logs)
	return copies, logs, nil
}

// eraseEverywhere erases the words of a meeting outside of archive.db: deliveries, the data
// of other rooms, and files. Each step is tried, whatever becomes of the others.
func (a *Archive) eraseEverywhere(ctx context.Context, e *erasure) {
	unreadable, err := a.inbox.ForgetRecording(ctx, e.RecordingID)
	e.note(err)
	e.Unreadable, e.aside, err = a.dropDamaged(ctx, e.RecordingID)
	e.note(err)
	for _, delivery := range unreadable {
		e.Unreadable = append(e.Unreadable, fmt.Sprintf("delivery %d of the inbox", delivery))
	}
	a.mu.Lock()
	erasers := a.erasers
	a.mu.Unlock()
	for _, room := range erasers {
		if err := room.fn(ctx, e.RecordingID); err != nil {
			e.note(fmt.Errorf("%s still holds something of it: %w", room.name, err))
		}
	}
	e.note(a.endCopying(ctx, e.RecordingID))
	e.note(a.dropPartial(e.RecordingID)) // the rooms have ended their fetches
}

// meetingTables are the tables with rows of one meeting by recording_id, in the order
// of deletion. entries and speakers are handled apart. tombstones and audit stay.
var meetingTables = [...]string{
	"parts", "revisions", "meeting_speakers", "invitees", "summaries", "action_items", "highlights", "crm_matches",
	"sightings", "attachments", "failures", "shares", "downloads", "former_terms", "changes", "meetings",
}

// deleteRows deletes all rows of a meeting from archive.db and adds its tombstone,
// within one transaction. They are overwritten where they lie (secure_delete);
// eraseInDatabases overwrites earlier copies.
func (a *Archive) deleteRows(ctx context.Context, tx *sql.Tx, id int64, reason string) error {
	now := a.now().UnixMilli()
	t := newApplying(a, sqlite.NewStatements(ctx, tx))
	recorder, err := t.readRecorder(id)
	if err != nil {
		return err
	}
	for _, step := range []string{
		`INSERT INTO tombstones (recording_id, held_from, forgotten_at, blobs) SELECT ?1,
			min(?2, coalesce((SELECT min(at) FROM changes WHERE recording_id = ?1), 0)), ?2,
			(SELECT json_group_array(sha256) FROM (SELECT sha256 FROM attachments WHERE recording_id = ?1
				UNION SELECT sha256 FROM downloads WHERE recording_id = ?1 AND sha256 <> '') x WHERE NOT EXISTS
				(SELECT 1 FROM attachments y WHERE y.sha256 = x.sha256 AND y.recording_id <> ?1))`,
		`DELETE FROM marks WHERE (key = 'sync/ask/' || ?1 OR key GLOB '` + givenUpMark + `' || ?1 || '/*') AND ?2`, // here, so that forget does not need the room
		`DELETE FROM entries WHERE id BETWEEN (SELECT number << 20 FROM meetings WHERE recording_id = ?1)
			AND (SELECT (number << 20) + 0xfffff FROM meetings WHERE recording_id = ?1) AND ?2`,
	} {
		if _, err := t.Exec(step, id, now); err != nil {
			return err
		}
	}
	for _, table := range meetingTables {
		if _, err := t.Exec(`DELETE FROM `+table+` WHERE recording_id = ?`, id); err != nil {
			return fmt.Errorf("delete from %s: %w", table, err)
		}
	}
	for _, step := range []string{
		`DELETE FROM speakers WHERE id NOT IN (SELECT speaker_id FROM meeting_speakers) AND ?1`,
		`DELETE FROM media WHERE sha256 IN (SELECT value FROM tombstones, json_each(blobs) WHERE recording_id = ?1)
			AND sha256 NOT IN (SELECT sha256 FROM attachments)`,
	} {
		if _, err := t.Exec(step, id); err != nil {
			return err
		}
	}
	if recorder != "" { // perhaps no plain list shows the recorder any more
		if err := t.deriveOutsideWhere(false, true, `recorder = ?`, recorder); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`INSERT INTO audit (at, action, recording_id, reason, detail) VALUES (?, 'forget', ?, ?, '')`, now, id, reason); err != nil {
		return err
	}
	return logChange(ctx, tx, id, ChangeForgotten, "", sqlite.Time(now))
}
