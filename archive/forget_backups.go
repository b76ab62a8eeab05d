package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"minutebook/archive/generation"
	"minutebook/internal/bucket"
	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
)

// execer is a database or a transaction.
type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// LockBuckets keeps this process from doing the same work, such as a backup, into two
// buckets at the same time. It reports false where it is being done.
func (a *Archive) LockBuckets(work string) (unlock func() error, ok bool) {
	_, busy := a.buckets.LoadOrStore(work, true)
	return func() error { a.buckets.Delete(work); return nil }, !busy
}

// NoteBackup records the path of a generation before it is written, so that Forget can
// name it.
func (a *Archive) NoteBackup(ctx context.Context, path string, at time.Time) error {
	return noteBackup(ctx, a.db, path, at)
}

func noteBackup(ctx context.Context, db execer, path string, at time.Time) error {
	_, err := db.ExecContext(ctx, `INSERT INTO backups (destination, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`, path, at.UnixMilli())
	if err != nil {
		return fmt.Errorf("note backup: %w", err)
	}
	return nil
}

// NoteGenerations records that the directory of backups dir has exactly these
// generations.
func (a *Archive) NoteGenerations(ctx context.Context, dir string, all []generation.Generation) error {
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		var paths []string
		for _, g := range all {
			paths = append(paths, g.Path())
			if g.Damage != nil {
				continue // its time is unknown; the earlier note stays
			}
			if err := noteBackup(ctx, tx, g.Path(), g.TakenAt); err != nil {
				return err
			}
		}
		var gone []string
		err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
			var path string
			err := rows.Scan(&path)
			if generation.DirOf(path) == dir && !slices.Contains(paths, path) {
				gone = append(gone, path)
			}
			return err
		}, `SELECT destination FROM backups`)
		for _, path := range gone {
			if err == nil {
				_, err = tx.ExecContext(ctx, `DELETE FROM backups WHERE destination = ?`, path)
			}
		}
		return err
	})
}

// placeTimeout is how long forgetting a meeting waits for a directory of backups, which may
// be in a bucket.
const placeTimeout = 20 * time.Second

// backupsWith returns the generations of backups that contain a forgotten meeting.
func (a *Archive) backupsWith(ctx context.Context, id int64) ([]string, error) {
	const slack = time.Hour               // for the duration of a backup and for clocks that are set
	noted := map[string]map[string]bool{} // by directory of backups, the paths of its generations, and whether their time fits
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var path string
		var inTime bool
		err := rows.Scan(&path, &inTime)
		dir := generation.DirOf(path)
		if noted[dir] == nil {
			noted[dir] = map[string]bool{}
		}
		noted[dir][path] = inTime
		return err
	}, `SELECT destination, at BETWEEN held_from - ?1 AND coalesce(done_at, ?3) + ?1 FROM backups, tombstones
		WHERE recording_id = ?2`, slack.Milliseconds(), id, a.now().UnixMilli())
	var names []string
	for dir, paths := range noted {
		place, cancel := context.WithTimeout(ctx, placeTimeout)
		names = append(names, generationsWith(place, dir, id, paths)...)
		cancel()
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// generationsWith returns the generations of a directory of backups that contain a
// meeting, by their manifests; another copy of the archive may have made more than those
// that are noted. Where no manifest can be read, such as on a disk that is not mounted,
// the time decides. An interrupted generation may contain any meeting.
func generationsWith(ctx context.Context, dir string, id int64, noted map[string]bool) (names []string) {
	all, listed := generation.List(ctx, dir)
	found := map[string]bool{} // whether the manifest can be read
	for _, g := range all {
		found[g.Path()] = g.Damage == nil
		if slices.Contains(g.IDs, id) || slices.Contains(g.DeliveredIDs, id) {
			names = append(names, g.Path())
		}
	}
	for path, inTime := range noted {
		readable, isThere := found[path]
		switch {
		case path == dir || isThere && !readable: // a backup of the first version, or damaged
		case readable:
			inTime = false // its manifest has said it
		case isInterrupted(ctx, path, listed):
			inTime = true
		case listed == nil:
			inTime = false // deleted, for other generations are there
		}
		if inTime {
			names = append(names, path)
		}
	}
	return names
}

// isInterrupted reports whether the generation at path is there without a manifest.
// listed is the error of listing its directory.
func isInterrupted(ctx context.Context, path string, listed error) bool {
	if listed != nil && !errors.Is(listed, generation.ErrNone) {
		return false
	}
	dir, name := generation.SplitPath(path)
	place, err := generation.OpenPlace(dir)
	if err != nil {
		return false
	}
	entries, err := place.Entries(ctx)
	return err == nil && slices.Contains(entries, name)
}

// noteForgotten writes the forgotten meetings into the known directories of backups.
// The next backup does so for one that cannot be reached.
func (a *Archive) noteForgotten(ctx context.Context) {
	paths, err := sqlite.Column[string](ctx, a.db.R, `SELECT destination FROM backups`)
	dirs := map[string]bool{}
	for _, path := range paths {
		dirs[generation.DirOf(path)] = true
	}
	for dir := range dirs {
		place, cancel := context.WithTimeout(ctx, placeTimeout)
		switch _, none := generation.List(place, dir); {
		case none == nil: // not an empty mount point
			err = errors.Join(err, a.NoteForgotten(place, dir))
		case bucket.IsUnavailable(none):
			err = errors.Join(err, none)
		}
		cancel()
	}
	if err != nil && ctx.Err() == nil {
		a.log.Warn().Str("error", phrase.Error(err)).Msg("a directory of backups does not know what was forgotten; the next backup tells it")
	}
}

// NoteForgotten writes the forgotten meetings into a directory of backups, by their ids
// alone, so that a restore of an older generation does not bring them back.
func (a *Archive) NoteForgotten(ctx context.Context, dir string) error {
	if err := a.backups.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.backups.Release(1)
	list, err := ReadForgotten(ctx, a.db.R)
	if err != nil {
		return err
	}
	place, err := generation.OpenPlace(dir)
	if err != nil {
		return err
	}
	aside, err := generation.NoteForgotten(ctx, place, list)
	if aside != "" {
		a.log.Warn().Str("dir", dir).Str("file", aside).Msg("the list of forgotten meetings in a directory of backups was damaged; it is set aside, and written anew with those of this archive")
	}
	return err
}

// ImportedAs begins the marks of the ids that name an imported meeting with another id: by the
// words of a file that was read while it was written, or that was corrected since, and by a key
// that was given later. A meeting that has a key has a mark of its own id too. The marks stay when
// the meeting is forgotten, so that no other id of it brings it back.
const ImportedAs = "import/same/"

// ReadForgotten returns the meetings that an archive.db has forgotten, by each of their ids: one
// that a restored archive did not know of would bring a meeting back.
func ReadForgotten(ctx context.Context, db sqlite.Querier) ([]generation.Forgotten, error) {
	list, err := sqlite.List(ctx, db, func(rows *sql.Rows, f *generation.Forgotten) error {
		var at int64
		err := rows.Scan(&f.RecordingID, &at)
		f.At = sqlite.Time(at)
		return err
	}, `SELECT recording_id, forgotten_at FROM tombstones UNION
		SELECT CAST(substr(key, length(?1) + 1) AS INTEGER), forgotten_at FROM marks JOIN tombstones ON recording_id = CAST(value AS INTEGER)
			WHERE key GLOB ?1 || '*' ORDER BY 1`, ImportedAs)
	if err != nil {
		return nil, fmt.Errorf("read tombstones: %w", err)
	}
	return list, nil
}

// copying is a work for which copies of databases lie in the data directory. Its context
// has it by copyingKey.
type copying struct {
	end   context.CancelCauseFunc
	ended chan struct{}
}

type copyingKey struct{}

// copyingWeight is more than the number of erasures at a time.
const copyingWeight = 1 << 20

// UntilForget begins a work for which copies of databases, which may have any meeting, lie
// in the data directory. Forget ends its context with ErrForgottenMeanwhile, and waits until
// done is called, when they are deleted. The work begins when nothing is being erased. It may
// finish erasures itself while it has no copies yet.
func (a *Archive) UntilForget(ctx context.Context) (_ context.Context, done func()) {
	if a.forgetting.Acquire(ctx, copyingWeight) != nil {
		return ctx, func() {} // the context has ended, and the work with it
	}
	defer a.forgetting.Release(copyingWeight)
	ctx, end := context.WithCancelCause(ctx)
	c := &copying{end, make(chan struct{})}
	ctx = context.WithValue(ctx, copyingKey{}, c)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.copying[c] = true
	return ctx, func() {
		end(nil)
		close(c.ended)
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.copying, c)
	}
}

// endCopying ends the works that UntilForget has begun, except the one that ctx is of.
func (a *Archive) endCopying(ctx context.Context) error {
	a.mu.Lock()
	works := slices.Collect(maps.Keys(a.copying))
	a.mu.Unlock()
	works = slices.DeleteFunc(works, func(c *copying) bool { return c == ctx.Value(copyingKey{}) })
	for _, c := range works {
		c.end(ErrForgottenMeanwhile)
	}
	for _, c := range works {
		select {
		case <-c.ended:
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of a backup, a proof or a repair, which has a copy of it: %w", ctx.Err())
		}
	}
	return nil
}
