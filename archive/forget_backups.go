package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
func (a *Archive) NoteBackup(ctx context.Context, path string) error {
	return noteBackup(ctx, a.db, path, 0)
}

// NoteBegun records that a generation is there, whole or not, with the time of its beginning.
func (a *Archive) NoteBegun(ctx context.Context, path string, at time.Time) error {
	return noteBegun(ctx, a.db, path, at)
}

func noteBegun(ctx context.Context, db execer, path string, at time.Time) error {
	return noteBackup(ctx, db, path, max(at.UnixMilli(), 1)) // a clock may stand before 1970
}

// noteBackup notes a generation. Its time at, in milliseconds, is 0 until its first file is there,
// and negative while it is away.
func noteBackup(ctx context.Context, db execer, path string, at int64) error {
	_, err := db.ExecContext(ctx, `INSERT INTO backups (destination, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`, path, at)
	if err != nil {
		return fmt.Errorf("note backup: %w", err)
	}
	return nil
}

// backupNotes are the noted generations of a directory of backups, by their paths.
type backupNotes map[string]int64

// readNotes returns the notes of each directory of backups.
func readNotes(ctx context.Context, db sqlite.Querier) (map[string]backupNotes, error) {
	notes := map[string]backupNotes{}
	err := sqlite.Each(ctx, db, func(rows *sql.Rows) error {
		var path string
		var at int64
		err := rows.Scan(&path, &at)
		dir := generation.DirOf(path)
		if notes[dir] == nil {
			notes[dir] = backupNotes{}
		}
		notes[dir][path] = at
		return err
	}, `SELECT destination, at FROM backups`)
	return notes, err
}

// highest returns the highest number of the generations.
func (n backupNotes) highest() (highest int) {
	for path := range n {
		_, name := generation.SplitPath(path)
		highest = max(highest, generation.NumberIn(name))
	}
	return highest
}

// findAway returns the generations that are away from their directory, where the given ones
// are: all of its disk where none of them is there, for a person deletes some, and a disk
// that is not mounted, or another one in its place, hides all. Another copy of the archive may
// have gone on there; its numbers are higher.
func (n backupNotes) findAway(there []generation.Generation) (away []string) {
	isAway, highest := true, n.highest()
	for _, g := range there {
		at, noted := n[g.Path()]
		isAway = isAway && (noted && at < 0 || !noted && g.Number <= highest)
	}
	for path, at := range n {
		isThere := slices.ContainsFunc(there, func(g generation.Generation) bool { return g.Path() == path })
		if !isThere && (at < 0 || at > 0 && isAway) {
			away = append(away, path)
		}
	}
	slices.Sort(away)
	return away
}

// NoteAway notes which generations of a directory of backups are away, where the given ones are, whole or
// interrupted. It returns the paths of those that are away, in rising order, and the highest noted
// number: a new generation has a higher one, so that one path is one generation.
func (a *Archive) NoteAway(ctx context.Context, dir string, there []generation.Generation) (away []string, highest int, err error) {
	err = a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		notes, err := readNotes(ctx, tx)
		if err != nil {
			return err
		}
		away, highest = notes[dir].findAway(there), notes[dir].highest()
		for path, at := range notes[dir] {
			if _, isAway := slices.BinarySearch(away, path); isAway == (at < 0) {
				continue
			}
			if err := noteBackup(ctx, tx, path, -at); err != nil {
				return err
			}
		}
		return nil
	})
	return away, highest, err
}

// NoteGenerations records that the directory of backups dir has exactly these
// generations. Those that are away stay noted, unless they are gone for good.
func (a *Archive) NoteGenerations(ctx context.Context, dir string, all []generation.Generation, goneForGood bool) error {
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		notes, err := readNotes(ctx, tx)
		if err != nil {
			return err
		}
		gone := notes[dir]
		for _, g := range all {
			delete(gone, g.Path())
			if g.Damage != nil {
				continue // its time is unknown; the earlier note stays
			}
			if err := noteBegun(ctx, tx, g.Path(), g.TakenAt); err != nil {
				return err
			}
		}
		for path, at := range gone {
			if at < 0 && !goneForGood {
				continue
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM backups WHERE destination = ?`, path); err != nil {
				return err
			}
		}
		return nil
	})
}

// placeTimeout is how long forgetting a meeting waits for a directory of backups, which may
// be in a bucket.
const placeTimeout = 20 * time.Second

// backupsWith returns the generations of backups that may contain a forgotten meeting.
func (a *Archive) backupsWith(ctx context.Context, id int64) ([]string, error) {
	notes, err := readNotes(ctx, a.db.R)
	var names []string
	for dir, noted := range notes {
		place, cancel := context.WithTimeout(ctx, placeTimeout)
		names = append(names, generationsWith(place, dir, id, noted)...)
		cancel()
	}
	slices.Sort(names)
	return names, err
}

// generationsWith returns the generations of a directory of backups that may contain a
// meeting, by their manifests; another copy of the archive may have made more than those
// that are noted. Where no manifest can be read, such as on a disk that is not mounted, or
// where a generation was interrupted, it may contain any meeting: the clock may have been
// wrong when it was made.
func generationsWith(ctx context.Context, dir string, id int64, noted backupNotes) (names []string) {
	place, err := generation.OpenPlace(dir)
	var there, interrupted []generation.Generation
	if err == nil {
		there, interrupted, err = generation.Inventory(ctx, place)
	}
	there = append(there, interrupted...)
	if err != nil || len(there) == 0 {
		return slices.Collect(maps.Keys(noted))
	}
	for _, g := range there {
		// A server may list the folder of one that was removed.
		if _, isNoted := noted[g.Path()]; g.MayHaveMeeting(id) && (isNoted || !errors.Is(g.Damage, generation.ErrNone)) {
			names = append(names, g.Path())
		}
	}
	return append(names, noted.findAway(there)...)
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

// ImportedAsKey is the key of an exported meeting with a list of these ids.
const ImportedAsKey = "imported_as"

// ImportedID returns the id to which the mark of an id leads, see [ImportedAs], and whether there is
// one. The id of a forgotten meeting leads to no other.
func (a *Archive) ImportedID(ctx context.Context, id int64) (same int64, marked bool, err error) {
	if !IsForeignID(id) {
		return id, false, nil
	}
	value, err := a.Mark(ctx, ImportedAs+strconv.FormatInt(id, 10))
	if err != nil || value == nil {
		return id, false, err
	}
	if same, err = strconv.ParseInt(string(value), 10, 64); err != nil {
		return id, false, fmt.Errorf("read which meeting %d is: %w", id, err)
	}
	if same != id {
		if _, err := a.Row(ctx, id); errors.Is(err, ErrForgotten) {
			return id, false, nil
		} else if err != nil && !errors.Is(err, ErrNotFound) {
			return id, false, err
		}
	}
	return same, true, nil
}

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

// copying is a work for which copies of meetings lie in the data directory. Its context
// has it by copyingKey.
type copying struct {
	about []int64 // the meetings; nil: any
	end   context.CancelCauseFunc
	ended chan struct{}
}

type copyingKey struct{}

// copyingWeight is more than the number of erasures at a time.
const copyingWeight = 1 << 20

// UntilForget begins a work for which copies of some meetings, or of databases, which may have
// any, lie in the data directory. Forget ends its context with ErrForgottenMeanwhile, and waits
// until done is called, when they are deleted. The work begins when nothing is being erased. It may
// finish erasures itself while it has no copies yet.
func (a *Archive) UntilForget(ctx context.Context, meetings ...int64) (_ context.Context, done func()) {
	if a.forgetting.Acquire(ctx, copyingWeight) != nil {
		return ctx, func() {} // the context has ended, and the work with it
	}
	defer a.forgetting.Release(copyingWeight)
	ctx, end := context.WithCancelCause(ctx)
	c := &copying{meetings, end, make(chan struct{})}
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

// endCopying ends the works that UntilForget has begun and that may have copies of a meeting,
// except the one that ctx is of.
func (a *Archive) endCopying(ctx context.Context, id int64) error {
	a.mu.Lock()
	works := slices.Collect(maps.Keys(a.copying))
	a.mu.Unlock()
	works = slices.DeleteFunc(works, func(c *copying) bool {
		return c == ctx.Value(copyingKey{}) || c.about != nil && !slices.Contains(c.about, id)
	})
	for _, c := range works {
		c.end(ErrForgottenMeanwhile)
	}
	for _, c := range works {
		select {
		case <-c.ended:
		case <-ctx.Done():
			return fmt.Errorf("wait for the end of a backup, a proof, a repair or a clip, which has a copy of it: %w", ctx.Err())
		}
	}
	return nil
}
