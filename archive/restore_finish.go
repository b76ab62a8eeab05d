package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// finish checks the databases, begins the new epoch and gives everything its
// name.
func (r *restoring) finish(ctx context.Context, dbs []string) error {
	archive := filepath.Join(r.Dir, restoringName+"-archive.db")
	found := false
	for _, path := range dbs {
		found = found || path == archive
		if err := r.check(ctx, path, path == archive); err != nil {
			return fmt.Errorf("check %s: %w", strings.TrimPrefix(filepath.Base(path), restoringName+"-"), err)
		}
	}
	if !found {
		return &DamagedError{r.From, []string{path.Join(r.from.place(), manifestName) + ": names no archive.db"}}
	}
	for _, path := range append(without(dbs, archive), archive) {
		final := filepath.Join(r.Dir, strings.TrimPrefix(filepath.Base(path), restoringName+"-"))
		if err := durable.Rename(path, final); err != nil {
			return err
		}
	}
	// From here on Open takes it.
	if err := durable.Remove(filepath.Join(r.Dir, restoringName)); err != nil {
		return err
	}
	for _, l := range r.m.Lost {
		r.Logger.Warn().Str("recording", l.SHA256).Msg(l.String())
	}
	r.Logger.Info().Str("from", r.From).Int("meetings", r.m.Meetings).Msg("restored")
	return nil
}

func without(list []string, one string) []string {
	var rest []string
	for _, s := range list {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}

// check runs SQLite's checks over a restored database, and the archive's own
// over archive.db.
func (r *restoring) check(ctx context.Context, path string, archive bool) (err error) {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, pragma := range []string{`PRAGMA integrity_check(10)`, `SELECT 'row of ' || "table" || ' without its ' || "parent" FROM pragma_foreign_key_check`} {
		if err := clean(ctx, db.W, pragma); err != nil {
			return err
		}
	}
	if !archive {
		return nil
	}
	if err := db.CheckVersion(ctx, archiveMigrations()); err != nil {
		return err
	}
	if !r.m.WithoutMedia {
		if err := r.checkMedia(ctx, db.W); err != nil {
			return err
		}
	}
	return db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := r.beginEpoch(ctx, tx); err != nil {
			return err
		}
		if err := r.noteMade(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO audit (at, action, recording_id, reason, detail) VALUES (?, 'restore', 0, '', ?)`,
			r.Now().UnixMilli(), fmt.Sprintf("backup of %s, epoch %s, position %d", r.m.TakenAt.Format("2006-01-02T15:04:05Z"), r.m.Epoch, r.m.Seq))
		if err != nil {
			return fmt.Errorf("note restore: %w", err)
		}
		return nil
	})
}

// beginEpoch adds an epoch to the lineage, and notes the generations that forget
// has to name from now on: the copy does not know of its own.
func (r *restoring) beginEpoch(ctx context.Context, tx *sql.Tx) error {
	epoch := newEpoch()
	for _, step := range []string{
		`INSERT INTO info (name, value) SELECT 'lineage', json_array(value) FROM info WHERE name = 'epoch' AND ?1 <> '' ON CONFLICT DO NOTHING`,
		`UPDATE info SET value = json_insert(value, '$[#]', ?1) WHERE name = 'lineage'`,
		`UPDATE info SET value = ?1 WHERE name = 'epoch'`,
	} {
		if _, err := tx.ExecContext(ctx, step, epoch); err != nil {
			return fmt.Errorf("begin epoch: %w", err)
		}
	}
	all, err := Generations(r.From)
	if err != nil {
		return err
	}
	for _, g := range all {
		path, err := filepath.Abs(g.Path())
		if err == nil && g.Damage == nil {
			err = noteBackup(ctx, tx, path, g.TakenAt)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteMade has the archive miss no database that was not in the backup yet.
func (r *restoring) noteMade(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM info WHERE substr(name, 1, length(?1)) = ?1`, madePrefix); err != nil {
		return fmt.Errorf("note which databases were restored: %w", err)
	}
	for _, f := range r.m.Files {
		if strings.HasPrefix(f.Path, "media/") || r.target(f) == filepath.Join(r.Dir, restoringName+"-archive.db") {
			continue
		}
		name := strings.TrimPrefix(filepath.Base(r.target(f)), restoringName+"-")
		if _, err := tx.ExecContext(ctx, `INSERT INTO info (name, value) VALUES (?, '')`, madePrefix+name); err != nil {
			return fmt.Errorf("note which databases were restored: %w", err)
		}
	}
	return nil
}

// clean fails with the first lines of a check that finds anything.
func clean(ctx context.Context, db *sql.DB, query string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	var found []string
	err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" && len(found) < 10 {
			found = append(found, line)
		}
		return nil
	})
	if err == nil && len(found) > 0 {
		err = errors.New(strings.Join(found, "; "))
	}
	return err
}

// checkMedia makes sure that every recording the archive names was restored.
func (r *restoring) checkMedia(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `SELECT DISTINCT sha256 FROM attachments`)
	if err != nil {
		return err
	}
	return sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var sha string
		if err := rows.Scan(&sha); err != nil {
			return err
		}
		if !r.blobs[sha] && !slices.ContainsFunc(r.m.Lost, func(l LostRecording) bool { return l.SHA256 == sha }) {
			return &DamagedError{r.From, []string{"media/" + sha[:2] + "/" + sha + ": is missing, and a meeting has it"}}
		}
		return nil
	})
}

// unfinishedRestore refuses a directory that a restore has left unfinished.
func unfinishedRestore(dir string) error {
	_, err := os.Stat(filepath.Join(dir, restoringName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	return fmt.Errorf("open %s: %w: a restore into it was not finished; run it again", dir, ErrNoArchive)
}
