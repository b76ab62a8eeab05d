package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive/inbox"
	"minutebook/archive/media"
	"minutebook/internal/bucket"
	"minutebook/internal/durable"
	"minutebook/internal/phrase"
	"minutebook/internal/sqlite"
)

// ProofDir is the directory in the data directory into which a backup is restored for a
// proof, and which is removed afterwards.
const ProofDir = durable.TempPrefix + "proof"

// sweepLeftovers deletes the leftovers of a crash in the data directory: copies for
// an encrypted backup, databases of an interrupted migration or proof, files that a repair was
// putting aside, and the leftovers of [Archive.sweepMedia]. Forget would not find them later. The caller has the lock of
// the data directory, so that no other process uses them.
func (a *Archive) sweepLeftovers(ctx context.Context) error {
	for _, dir := range []string{a.dir, filepath.Join(a.dir, asideDir)} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for what a crash left: %w", err)
		}
		for _, e := range entries {
			migrating := strings.Contains(e.Name(), ".db"+sqlite.MigratingSuffix) && e.Type().IsRegular()
			if !migrating && !strings.HasPrefix(e.Name(), durable.TempPrefix) {
				continue
			}
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("delete what a crash left: %w", err)
			}
		}
	}
	if err := a.sweepMedia(ctx); err != nil {
		a.log.Warn().Err(err).Msg("parts of recordings that a crash left were not deleted; the next start tries again")
	}
	return a.sweepUnattached(ctx)
}

// sweepTimeout is how long each sweep of an archive that is opened waits for its bucket.
const sweepTimeout = 3 * time.Second

// sweepMedia deletes the parts of recordings that a crash left, and partial recordings of forgotten
// meetings and of those whose recordings a rule has deleted. The bucket or the disk may be away.
func (a *Archive) sweepMedia(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	err := media.Sweep(waiting, a.media, a.now())
	ids, failed := a.forgottenPartials(ctx)
	deleted, unread := sqlite.Column[int64](ctx, a.db.R, `SELECT recording_id FROM downloads WHERE state = 'deleted'`)
	err = errors.Join(err, failed, unread)
	for _, id := range append(ids, deleted...) {
		err = errors.Join(err, a.dropPartial(id))
	}
	return err
}

// dropPartial deletes the partial file of a meeting's recording.
func (a *Archive) dropPartial(id int64) error {
	if err := durable.Remove(a.PartialPath(strconv.FormatInt(id, 10))); err != nil {
		return fmt.Errorf("delete partial file: %w", err)
	}
	return nil
}

// forgottenPartials returns the forgotten meetings with a partial file.
func (a *Archive) forgottenPartials(ctx context.Context) ([]int64, error) {
	entries, err := os.ReadDir(filepath.Dir(a.PartialPath("any")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for partial files: %w", err)
	}
	var ids []int64
	for _, e := range entries {
		if id, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	forgotten, err := a.Forgotten(ctx, ids)
	return slices.Sorted(maps.Keys(forgotten)), err
}

// dropDamaged deletes the bytes of a meeting that a repair has put aside, except
// recordings that another meeting had too. It returns the deliveries put aside whose
// meeting cannot be read, with the recordings put aside whose meeting nobody knows, and the
// recordings that it deleted.
func (a *Archive) dropDamaged(ctx context.Context, id int64) (unreadable, recordings []string, err error) {
	if unreadable, err = a.dropAside(id); err != nil {
		return nil, nil, fmt.Errorf("find damaged files of the meeting: %w", err)
	}
	if recordings, err = a.dropAsideOf(ctx, id); err != nil {
		return nil, nil, err
	}
	unknown, err := a.readUnknownAside(ctx)
	return append(unreadable, unknown...), recordings, err
}

// dropAside is dropDamaged for everything but recordings. The name of a file begins
// with its meeting, or with 0 for a delivery that was damaged before it was applied.
func (a *Archive) dropAside(id int64) (unreadable []string, err error) {
	dir := filepath.Join(a.dir, asideDir)
	names, err := fs.Glob(os.DirFS(dir), strconv.FormatInt(id, 10)+"-*")
	if err != nil {
		return nil, err
	}
	unknown, err := fs.Glob(os.DirFS(dir), "0-*")
	if err != nil {
		return nil, err
	}
	for _, name := range unknown {
		stored, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		switch about := inbox.DamagedRecordingIDs(stored); {
		case slices.Contains(about, id):
			names = append(names, name)
		case len(about) == 0:
			unreadable = append(unreadable, filepath.Join(dir, name))
		}
	}
	for _, name := range names {
		if err := durable.Remove(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return unreadable, nil
}

// readUnattached returns the meetings of the files with an unattachedMark by their SHA-256.
func (a *Archive) readUnattached(ctx context.Context) (map[string][]int64, error) {
	marks, err := a.Marks(ctx, unattachedMark)
	unattached := map[string][]int64{}
	for key := range marks {
		sha, owner, _ := strings.Cut(strings.TrimPrefix(key, unattachedMark), "/")
		if id, err := strconv.ParseInt(owner, 10, 64); err == nil && media.ValidName(sha) {
			unattached[sha] = append(unattached[sha], id)
		}
	}
	return unattached, err
}

// readUnknownAside returns the files in media/damaged of which no meeting is known, such as
// recordings in a bucket that were fetched after the backup from which this archive comes.
func (a *Archive) readUnknownAside(ctx context.Context) (paths []string, err error) {
	unattached, err := a.readUnattached(ctx)
	if err != nil {
		return nil, err
	}
	for _, path := range a.asidePaths("any") {
		dir := filepath.Dir(path)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look for recordings put aside: %w", err)
		}
		for _, e := range entries {
			if len(unattached[e.Name()]) == 0 && media.ValidName(e.Name()) {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths, nil
}

// dropAsideOf deletes the files that were put aside for a meeting and are of no other one. It
// returns the SHA-256 of those that it found.
func (a *Archive) dropAsideOf(ctx context.Context, id int64) (dropped []string, err error) {
	unattached, err := a.readUnattached(ctx)
	if err != nil {
		return nil, err
	}
	for sha, ids := range unattached {
		if len(ids) > 1 || ids[0] != id {
			continue
		}
		for _, aside := range a.asidePaths(sha) {
			if _, missing := os.Lstat(aside); missing == nil {
				dropped = append(dropped, sha)
			}
			if err := durable.Remove(aside); err != nil {
				return nil, err
			}
		}
	}
	return dropped, nil
}

// dropUnattached deletes the files that were stored or put aside for a meeting, are no
// recordings of a meeting, and are of no other meeting. Where an import may be storing a file
// at the moment, the mark of a file that is not there stays, until the import ends or, after a
// crash, the next start. wasAside are files that were put aside and are deleted already.
func (a *Archive) dropUnattached(ctx context.Context, id int64, importing bool, wasAside ...string) error {
	aside, err := a.dropAsideOf(ctx, id)
	if err != nil {
		return err
	}
	aside = append(aside, wasAside...)
	unattached, err := a.readUnattached(ctx)
	if err != nil {
		return err
	}
	for sha, ids := range unattached {
		if !slices.Contains(ids, id) {
			continue
		}
		if len(ids) == 1 {
			dropped, err := a.DropBlob(ctx, sha)
			if err != nil {
				return err
			}
			if importing && !slices.Contains(aside, sha) && !dropped {
				continue
			}
		}
		if err := a.SetMarks(ctx, Mark{Key: markUnattached(sha, id).Key}); err != nil {
			return err
		}
	}
	return nil
}

// sweepUnattached deletes the files that a killed import was storing: another import reads them
// again where they came from. The next start does it where the bucket does not answer.
func (a *Archive) sweepUnattached(ctx context.Context) error {
	unattached, err := a.readUnattached(ctx)
	if err != nil {
		return err
	}
	forgotten, err := a.Forgotten(ctx, slices.Concat(slices.Collect(maps.Values(unattached))...))
	if err != nil {
		return err
	}
	fetched, err := sqlite.Column[string](ctx, a.db.R, `SELECT sha256 FROM downloads WHERE sha256 <> ''`)
	if err != nil {
		return fmt.Errorf("read recordings that were fetched: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	for _, sha := range slices.Sorted(maps.Keys(unattached)) {
		for _, id := range unattached[sha] {
			switch {
			case forgotten[id]:
				err = a.dropUnattached(ctx, id, false)
			case !slices.Contains(fetched, sha) && !a.liesAside(sha): // a fetched file is attached soon
				err = a.DropExpected(ctx, id, sha)
			}
			if err != nil {
				a.log.Warn().Err(err).Msg("recordings whose import was interrupted were not deleted; the next start tries again")
				return nil
			}
		}
	}
	return nil
}

// errWaits is the reason of an erasing for which the bucket was not asked, since it was waited
// for in vain just before.
var errWaits = errors.New("it waits for the bucket")

// eraseRecordings deletes the recordings of meetings, as far as only these have them. It
// does not ask a server again that answers nothing.
func (a *Archive) eraseRecordings(ctx context.Context, meetings []*erasure) error {
	silent, waiting := false, 0
	for _, e := range meetings {
		switch {
		case e.onlyLog:
		case silent:
			waiting++
			e.note(errWaits)
		default:
			e.note(a.dropUnattached(ctx, e.RecordingID, true, e.aside...))
			if !bucket.IsLate(e.err) {
				a.dropBlobs(ctx, e)
			}
			silent = bucket.IsLate(e.err)
		}
	}
	if waiting == 0 {
		return nil
	}
	return fmt.Errorf("the recordings of %s wait for the same", phrase.Count(waiting, "further meeting", "further meetings"))
}

// dropBlobs deletes the recordings that a tombstone names and no meeting has.
func (a *Archive) dropBlobs(ctx context.Context, e *erasure) {
	blobs, err := sqlite.Column[string](ctx, a.db.R, `SELECT value FROM tombstones, json_each(blobs) WHERE recording_id = ?`, e.RecordingID)
	e.note(err)
	for _, sha := range blobs {
		dropped, err := a.DropBlob(ctx, sha)
		if e.note(err); bucket.IsLate(err) || ctx.Err() != nil {
			return
		}
		if err == nil && dropped {
			e.Recordings++
		}
	}
	if e.Recordings > 0 && media.KeepsVersions(ctx, a.media) {
		e.Versions = append(e.Versions, "the bucket of recordings")
	}
}
