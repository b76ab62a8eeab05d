package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"minutebook/api"
	"minutebook/archive/generation"
	"minutebook/archive/media"
	"minutebook/internal/sqlite"
)

// RestoringFile marks a data directory that a restore has not finished. Open
// refuses it.
const RestoringFile = "restoring"

// refuseUnfinished fails with ErrNoArchive for a directory with [RestoringFile].
func refuseUnfinished(dir string) error {
	_, err := os.Stat(filepath.Join(dir, RestoringFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	return fmt.Errorf("open %s: %w: a restore into it was not finished; run it again", dir, ErrNoArchive)
}

// Restored describes a copy of an archive that becomes an archive of its own.
type Restored struct {
	At        time.Time
	Source    string                  // where it comes from, for the audit
	Databases []string                // names of the other databases that were restored
	Backups   []generation.Generation // that forget has to name from now on
	Forgotten []generation.Forgotten  // that the copy may still hold
	// EraseAgain has every forgotten meeting erased again from all databases, when the
	// archive is opened: they may be older than archive.db.
	EraseAgain bool
}

// BeginEpoch makes the restored archive.db in db an archive of its own: it begins
// an epoch, so that followers of the old one start over, notes where it comes
// from, takes the rate budgets for used up, and has retention rules wait. It forgets the meetings that were
// forgotten after the copy was made: their rows go at once, their deliveries and
// recordings when the archive is opened. It fails with [sqlite.ErrNewer] for a schema of
// a later version.
func BeginEpoch(ctx context.Context, db *sqlite.DB, r Restored) error {
	if err := db.CheckVersion(ctx, archiveMigrations()); err != nil {
		return err
	}
	if len(r.Forgotten) > 0 { // the rows are deleted from the tables of today
		if err := db.Migrate(ctx, archiveMigrations(), sqlite.MigrationReports{}); err != nil {
			return err
		}
		if _, err := db.DropCopies(); err != nil {
			return err
		}
	}
	return db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := r.addEpoch(ctx, tx); err != nil {
			return err
		}
		if err := r.forget(ctx, tx); err != nil {
			return err
		}
		if r.EraseAgain {
			if _, err := tx.ExecContext(ctx, `UPDATE tombstones SET done_at = NULL`); err != nil {
				return fmt.Errorf("have forgotten meetings erased again: %w", err)
			}
		}
		for _, g := range r.Backups {
			path, err := generation.Absolute(g.Path())
			if err == nil && g.Damage == nil {
				err = noteBegun(ctx, tx, path, g.TakenAt)
			}
			if err != nil {
				return err
			}
		}
		if err := r.noteDatabases(ctx, tx); err != nil {
			return err
		}
		// The archive that was copied may have made calls a moment ago.
		for step, args := range map[string][]any{
			`DELETE FROM marks WHERE key GLOB 'budget/?*'`:                    nil,
			`INSERT OR REPLACE INTO marks (key, value) VALUES ('budget/', ?)`: {[]byte(api.SpentBudget)},
		} {
			if _, err := tx.ExecContext(ctx, step, args...); err != nil {
				return fmt.Errorf("spend the rate budgets: %w", err)
			}
		}
		if err := restoreRules(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO audit (at, action, recording_id, reason, detail) VALUES (?, 'restore', 0, '', ?)`,
			r.At.UnixMilli(), r.Source)
		if err != nil {
			return fmt.Errorf("note restore: %w", err)
		}
		return nil
	})
}

// forget deletes the rows of the meetings that were forgotten after the copy was made.
func (r *Restored) forget(ctx context.Context, tx *sql.Tx) error {
	a := &Archive{now: func() time.Time { return r.At }}
	for _, f := range r.Forgotten {
		var known bool // by another of its ids
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM marks JOIN tombstones ON recording_id = CAST(value AS INTEGER) WHERE key = ? || ?)`,
			ImportedAs, f.RecordingID).Scan(&known)
		if err == nil && !known {
			err = checkKnown(ctx, tx, f.RecordingID)
		}
		switch {
		case known, errors.Is(err, ErrForgotten):
			continue
		case err != nil && !errors.Is(err, ErrNotFound): // the inbox may still have it
			return err
		}
		if err := a.deleteRows(ctx, tx, f.RecordingID, "forgotten on "+f.At.UTC().Format(time.DateOnly)+", after the restored backup"); err != nil {
			return fmt.Errorf("forget meeting %d again: %w", f.RecordingID, err)
		}
	}
	return nil
}

// addEpoch adds an epoch to the lineage, and notes where the former one was left.
func (r *Restored) addEpoch(ctx context.Context, tx *sql.Tx) error {
	epoch := newEpoch()
	for _, step := range []string{
		`INSERT INTO info (name, value) SELECT 'left', json_object(value, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0))
			FROM info WHERE name = 'epoch' AND ?1 <> '' ON CONFLICT DO UPDATE SET value = json_patch(info.value, excluded.value)`,
		`INSERT INTO info (name, value) SELECT 'lineage', json_array(value) FROM info WHERE name = 'epoch' AND ?1 <> '' ON CONFLICT DO NOTHING`,
		`UPDATE info SET value = json_insert(value, '$[#]', ?1) WHERE name = 'lineage'`,
		`UPDATE info SET value = ?1 WHERE name = 'epoch'`,
	} {
		if _, err := tx.ExecContext(ctx, step, epoch); err != nil {
			return fmt.Errorf("begin epoch: %w", err)
		}
	}
	return nil
}

// noteDatabases has the archive miss no database that was not in the backup yet.
func (r *Restored) noteDatabases(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM info WHERE substr(name, 1, length(?1)) = ?1`, createdPrefix)
	for _, name := range r.Databases {
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO info (name, value) VALUES (?, '')`, createdPrefix+name)
		}
	}
	if err != nil {
		return fmt.Errorf("note which databases were restored: %w", err)
	}
	return nil
}

// LeftAt returns the last change that this copy of the archive has of each earlier epoch. One
// that an earlier version ended is absent.
func (a *Archive) LeftAt(ctx context.Context) (map[string]int64, error) {
	var list string
	left := map[string]int64{}
	err := a.db.R.QueryRowContext(ctx, `SELECT coalesce((SELECT value FROM info WHERE name = 'left'), '{}')`).Scan(&list)
	if err == nil {
		err = json.Unmarshal([]byte(list), &left)
	}
	if err != nil {
		return nil, fmt.Errorf("read where earlier epochs were left: %w", err)
	}
	return left, nil
}

// TranslatePosition returns the position in the present epoch of a follower who stood at p: where
// this copy of the archive left the epoch of p, if p is beyond that, and the head where that is
// not known. The zero position is the log's beginning.
func (a *Archive) TranslatePosition(ctx context.Context, p Position) (Position, error) {
	head, err := a.Head(ctx)
	if err != nil || p.Epoch == head.Epoch || p == (Position{}) {
		return p, err
	}
	left, err := a.LeftAt(ctx)
	if seq, ok := left[p.Epoch]; ok { // numbers go on from one epoch to the next
		head.Seq = min(p.Seq, seq)
	}
	return head, err
}

// rowQuerier is a database, a connection or a transaction.
type rowQuerier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// Lineage returns the epochs of the archive, the current one last. The first one is
// its identity.
func (a *Archive) Lineage(ctx context.Context) ([]string, error) { return ReadLineage(ctx, a.db.R) }

// ReadLineage is [Archive.Lineage] of a copy of archive.db.
func ReadLineage(ctx context.Context, db rowQuerier) (epochs []string, err error) {
	var epoch, list string
	err = db.QueryRowContext(ctx, `SELECT value, coalesce((SELECT value FROM info WHERE name = 'lineage'), json_array(value))
		FROM info WHERE name = 'epoch'`).Scan(&epoch, &list)
	if err == nil {
		err = json.Unmarshal([]byte(list), &epochs)
	}
	if err == nil && (len(epochs) == 0 || epochs[len(epochs)-1] != epoch) {
		err = fmt.Errorf("it ends with another epoch than %s", epoch)
	}
	if err != nil {
		return nil, fmt.Errorf("read the archive's lineage: %w", err)
	}
	return epochs, nil
}

// CheckOutside fails for a directory of copies, which need not be there yet, that lies in the
// data directory or in a store of recordings, whatever links lead there, or that is the data
// directory of another archive:
// the copies would get in among the recordings, and clear files away there.
func (a *Archive) CheckOutside(dir string) error {
	own, err := os.Stat(a.dir)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	for at := dir; err != nil && at != filepath.Dir(at); {
		at = filepath.Dir(at) // the last ones may not be there yet
		real, err = filepath.EvalSymlinks(at)
	}
	for at := real; err == nil; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if _, none := os.Lstat(filepath.Join(at, media.OwnerName)); none == nil || err == nil && os.SameFile(info, own) {
			return errors.New("it lies in the data directory of the archive, or among recordings; name a directory of its own outside")
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	for _, name := range []string{"archive.db", "inbox.db", RestoringFile} {
		switch _, err := os.Lstat(filepath.Join(dir, name)); {
		case err == nil:
			return fmt.Errorf("it is a data directory, with its own %s; name a directory of its own", name)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}
