package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// finish checks the databases, begins the new epoch and renames the files, archive.db
// last.
func (r *restore) finish(ctx context.Context, dbs []string) error {
	main := filepath.Join(r.Dir, archive.RestoringFile+"-archive.db")
	found := false
	for _, path := range dbs {
		found = found || path == main
		if err := r.checkDatabase(ctx, path, path == main); err != nil {
			return fmt.Errorf("check %s: %w", strings.TrimPrefix(filepath.Base(path), archive.RestoringFile+"-"), err)
		}
	}
	if !found {
		return &generation.DamagedError{Dir: r.From, Damage: []string{r.from.ManifestFile() + ": names no archive.db"}}
	}
	for _, path := range append(slices.DeleteFunc(dbs, func(path string) bool { return path == main }), main) {
		final := filepath.Join(r.Dir, strings.TrimPrefix(filepath.Base(path), archive.RestoringFile+"-"))
		if err := durable.Rename(path, final); err != nil {
			return err
		}
	}
	// From here on Open takes it.
	if err := durable.Remove(filepath.Join(r.Dir, archive.RestoringFile)); err != nil {
		return err
	}
	for _, l := range r.m.Lost {
		r.Logger.Warn().Str("recording", l.SHA256).Str("reason", l.String()).Msg("the backup lacks a recording")
	}
	if r.m.WithoutMedia && !r.DatabasesOnly && (r.MediaURL == "" || r.MediaURL == "file:") {
		r.Logger.Warn().Msg("this generation was made without recordings; restore --list shows which have them")
	}
	r.m.Meetings -= r.forgotten
	if r.forgotten > 0 {
		r.Logger.Info().Int("meetings", r.forgotten).Msg("the backup holds meetings that were forgotten later; they are not restored")
	}
	if r.oldData == 0 {
		r.Logger.Warn().Msg("no old data directory was read: a meeting that was forgotten since this backup, while this directory of backups was out of reach, is back; restore again with --old-data, or forget it again")
	}
	r.Logger.Info().Str("from", r.From).Int("meetings", r.m.Meetings).Msg("restored")
	return nil
}

// checkDatabase runs SQLite's checks over a restored database, and the archive's own
// over archive.db.
func (r *restore) checkDatabase(ctx context.Context, path string, isMain bool) (err error) {
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := checkRows(ctx, db); err != nil || !isMain {
		return err
	}
	if !r.m.WithoutMedia {
		if err := r.checkMedia(ctx, db.R); err != nil {
			return err
		}
	}
	backups, err := generation.Generations(ctx, r.from.Place)
	if err != nil {
		return err
	}
	forgotten, err := r.readForgotten(ctx)
	if err != nil {
		return err
	}
	if _, r.forgotten, err = countForgotten(ctx, db.R, forgotten); err != nil {
		return err
	}
	source := fmt.Sprintf("backup of %s, epoch %s, position %d", r.m.TakenAt.Format("2006-01-02T15:04:05Z"), r.m.Epoch, r.m.Seq)
	err = archive.BeginEpoch(ctx, db, archive.Restored{At: r.Now(), Source: source, Databases: r.otherDatabases(), Backups: backups, Forgotten: forgotten})
	if err == nil {
		err = r.nameDamaged(ctx, db.R)
	}
	if err == nil {
		err = emptyLog(ctx, db)
	}
	return err
}

// emptyLog moves the log of a database into it before it is renamed, for SQLite does not report
// where it fails to do so at the closing.
func emptyLog(ctx context.Context, db *sqlite.DB) error {
	done, err := db.TryTruncateWAL(ctx)
	if err == nil && !done {
		err = fmt.Errorf("empty its log: %w; end that program, and restore again", sqlite.ErrLogRead)
	}
	return err
}

// nameDamaged names the meetings whose recordings are damaged in the backup. A recording of
// forgotten ones alone is not missed.
func (r *restore) nameDamaged(ctx context.Context, db *sql.DB) (err error) {
	var named []generation.Lost
	for _, l := range r.m.Lost {
		if l.Meetings == nil {
			l.Meetings, err = sqlite.Column[int64](ctx, db, `SELECT DISTINCT recording_id FROM meetings JOIN attachments USING (recording_id) WHERE sha256 = ?`, l.SHA256)
			if err != nil {
				return err
			}
		}
		if len(l.Meetings) > 0 {
			named = append(named, l)
		}
	}
	r.m.Lost = named
	return nil
}

// countForgotten returns how many meetings a copied archive.db has, and how many of them were
// forgotten since.
func countForgotten(ctx context.Context, db *sql.DB, forgotten []generation.Forgotten) (all, since int, err error) {
	ids, err := sqlite.Column[int64](ctx, db, `SELECT recording_id FROM meetings`)
	for _, id := range ids {
		if slices.ContainsFunc(forgotten, func(f generation.Forgotten) bool { return f.RecordingID == id }) {
			since++
		}
	}
	return len(ids), since, err
}

// checkRows runs SQLite's checks over a database.
func checkRows(ctx context.Context, db *sqlite.DB) error {
	for _, query := range []string{`PRAGMA integrity_check(10)`, `SELECT 'row of ' || "table" || ' without its ' || "parent" FROM pragma_foreign_key_check`} {
		if err := expectClean(ctx, db.W, query); err != nil {
			return err
		}
	}
	return nil
}

// otherDatabases returns the names of the databases beside archive.db.
func (r *restore) otherDatabases() (names []string) {
	for _, f := range r.m.Files {
		name := strings.TrimPrefix(filepath.Base(r.targetPath(f)), archive.RestoringFile+"-")
		if !strings.HasPrefix(f.Path, "media/") && name != "archive.db" {
			names = append(names, name)
		}
	}
	return names
}

// expectClean fails with the first lines of a check that finds anything.
func expectClean(ctx context.Context, db *sql.DB, query string) error {
	lines, err := sqlite.Column[string](ctx, db, query)
	found := slices.DeleteFunc(lines, func(line string) bool { return line == "ok" })
	found = found[:min(len(found), 10)]
	if err == nil && len(found) > 0 {
		err = errors.New(strings.Join(found, "; "))
	}
	return err
}

// checkMedia fails when a recording that a meeting has was not restored.
func (r *restore) checkMedia(ctx context.Context, db *sql.DB) error {
	all, err := sqlite.Column[string](ctx, db, `SELECT DISTINCT sha256 FROM attachments`)
	if err != nil {
		return err
	}
	for _, sha := range all {
		if !r.blobs[sha] && !slices.ContainsFunc(r.m.Lost, func(l generation.Lost) bool { return l.SHA256 == sha }) {
			return &generation.DamagedError{Dir: r.From, Damage: []string{"media/" + sha[:2] + "/" + sha + ": is missing, and a meeting has it"}}
		}
	}
	return nil
}
