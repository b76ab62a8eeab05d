package backup

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/bucket"
	"minutebook/internal/durable"
	"minutebook/internal/sqlite"
)

// AdoptOptions say which data directory to adopt.
type AdoptOptions struct {
	Dir string // with the databases that another program has restored
	// AcceptMissing goes on without databases that the archive once had.
	AcceptMissing bool
	// OldData are data directories of the same archive whose forgotten meetings are
	// forgotten here too. Those beside Dir are found without it.
	OldData []string
	Schemas map[string]fs.FS // as in [archive.Options]
	Logger  zerolog.Logger
	Now     func() time.Time // time.Now when nil
}

// Adopted is the result of [Adopt].
type Adopted struct {
	Meetings  int      `json:"meetings"`
	Databases []string `json:"databases"`  // beside archive.db
	Epoch     string   `json:"epoch"`      // the new epoch
	Again     int      `json:"deliveries"` // to be applied again
	Forgotten int      `json:"forgotten"`  // meetings that were forgotten elsewhere since
}

// Adopt makes an archive from databases that another program has restored, such as from
// a replica of Litestream. The databases may be of different moments: archive.db may be
// older than inbox.db, so every delivery with a body is applied again; another database
// may be older than archive.db, so every erasure is repeated. Adopt checks every
// database, and begins the new epoch last, in one commit: after an interruption, run it
// again. The index is built when the archive is used. It fails with [sqlite.ErrNewer], and
// changes nothing, when a database has a schema of a later version.
func Adopt(ctx context.Context, o AdoptOptions) (Adopted, error) {
	r := &restore{RestoreOptions: RestoreOptions{From: "replica", Dir: o.Dir, OldData: o.OldData, Logger: o.Logger, Now: o.Now}}
	if r.Now == nil {
		r.Now = time.Now
	}
	result, err := r.adopt(ctx, o)
	if err != nil {
		err = fmt.Errorf("adopt %s: %w", o.Dir, err)
	}
	return result, err
}

func (r *restore) adopt(ctx context.Context, o AdoptOptions) (result Adopted, err error) {
	main := filepath.Join(r.Dir, "archive.db")
	for _, name := range []string{"archive.db", "inbox.db"} {
		if info, err := os.Stat(filepath.Join(r.Dir, name)); err != nil || info.Size() == 0 {
			return result, fmt.Errorf("%s is missing or empty; restore all databases into the directory first", name)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Dir, archive.RestoringFile)); !errors.Is(err, fs.ErrNotExist) {
		return result, errors.Join(errors.New("a restore of a backup into it was not finished; run that again"), err)
	}
	lock, err := archive.LockDir(r.Dir)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, durable.GiveToOwner(r.Dir), lock.Release()) }()
	if _, err := archive.CheckSchemas(ctx, r.Dir, o.Schemas); err != nil {
		return result, err
	}
	names, err := fs.Glob(os.DirFS(filepath.Clean(r.Dir)), "*.db")
	if err != nil {
		return result, err
	}
	for _, name := range names {
		if err := checkReplica(ctx, filepath.Join(r.Dir, name)); err != nil {
			return result, fmt.Errorf("check %s: %w", name, err)
		}
		if name != filepath.Base(main) {
			result.Databases = append(result.Databases, name)
		}
	}
	if result.Again, err = r.reapply(ctx); err != nil {
		return result, err
	}
	db, err := sqlite.Open(ctx, main)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := r.refuseMissing(ctx, db, result.Databases); err != nil && !o.AcceptMissing {
		return result, err
	}
	if err := r.beginEpoch(ctx, db, &result); err != nil {
		return result, err
	}
	if r.oldData == 0 {
		r.Logger.Warn().Msg("no old data directory was read: a meeting that was forgotten after the replica was made, and that no directory of backups knows as forgotten, is back; adopt again with --old-data, or forget it again")
	}
	r.Logger.Info().Int("meetings", result.Meetings).Int("deliveries", result.Again).Msg("adopted")
	return result, nil
}

// checkReplica runs SQLite's checks over a database, and gives its file the mode of the
// others.
func checkReplica(ctx context.Context, path string) (err error) {
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return checkRows(ctx, db)
}

// reapply has the deliveries applied again and returns their number.
func (r *restore) reapply(ctx context.Context) (n int, err error) {
	db, err := sqlite.Open(ctx, filepath.Join(r.Dir, "inbox.db"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return inbox.ReplayAll(ctx, db)
}

// refuseMissing fails when a database that the archive once had is not here.
func (r *restore) refuseMissing(ctx context.Context, db *sqlite.DB, found []string) error {
	names, err := archive.CreatedDatabases(ctx, db.R)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(found, name) })
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the archive had %s, and it is not here; restore it too, or go on without its content with --accept-missing", strings.Join(missing, ", "))
}

// beginEpoch begins the epoch of an adopted archive.
func (r *restore) beginEpoch(ctx context.Context, db *sqlite.DB, result *Adopted) (err error) {
	if r.m.Lineage, err = archive.ReadLineage(ctx, db.R); err != nil {
		return err
	}
	forgotten, err := r.readOldData(ctx)
	if err != nil {
		return err
	}
	forgotten, err = r.addNoted(ctx, db.R, forgotten)
	if err != nil {
		return err
	}
	if err := r.claimRecordings(ctx); err != nil {
		return err
	}
	if result.Meetings, result.Forgotten, err = countForgotten(ctx, db.R, forgotten); err != nil {
		return err
	}
	result.Meetings -= result.Forgotten
	restored := archive.Restored{At: r.Now(), Source: "replica, epoch " + r.m.Lineage[len(r.m.Lineage)-1], Databases: result.Databases, Forgotten: forgotten, EraseAgain: true}
	if err := archive.BeginEpoch(ctx, db, restored); err != nil {
		return err
	}
	lineage, err := archive.ReadLineage(ctx, db.R)
	if err == nil {
		result.Epoch = lineage[len(lineage)-1]
	}
	return err
}

// claimRecordings makes the folder of the recordings, which may be brought there later.
func (r *restore) claimRecordings(ctx context.Context) error {
	store, err := media.Open(r.Dir, "", bucket.Line{})
	if err != nil {
		return err
	}
	media.SetOwner(store, r.m.Lineage[0], nil)
	return media.Check(ctx, store)
}

// addNoted adds the meetings that the archive's directories of backups record as
// forgotten. One that cannot be reached is left out, and said.
func (r *restore) addNoted(ctx context.Context, db *sql.DB, all []generation.Forgotten) ([]generation.Forgotten, error) {
	paths, err := sqlite.Column[string](ctx, db, `SELECT destination FROM backups`)
	if err != nil {
		return nil, err
	}
	dirs := map[string]bool{}
	for _, path := range paths {
		dirs[generation.DirOf(path)] = true
	}
	for dir := range dirs {
		place, err := generation.OpenPlace(dir)
		var list []generation.Forgotten
		if err == nil {
			_, err = generation.Generations(ctx, place) // none on a disk that is not mounted
		}
		if place != nil {
			var failed error
			list, failed = generation.ReadForgotten(ctx, place)
			err = cmp.Or(err, failed)
		}
		if err != nil {
			r.Logger.Warn().Err(err).Str("dir", dir).Msg("this directory of backups cannot be read: meetings that only it knows as forgotten are back")
		}
		all = append(all, list...)
	}
	return all, nil
}
