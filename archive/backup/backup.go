package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/archive/media"
	"minutebook/internal/bucket"
	"minutebook/internal/pause"
	"minutebook/internal/sqlite"
)

// Options say how to back up.
type Options struct {
	// Recipients, if any, are the age recipients for whom databases and recordings are
	// encrypted. Sizes and hashes stay readable, so that a backup can be checked
	// without the key.
	Recipients []age.Recipient
	// WithoutMedia leaves the recordings out: they are kept elsewhere, such as
	// in a bucket with versions of its own.
	WithoutMedia bool
	// Keep is the number of generations that stay in the directory; 0 removes none. The newest
	// one with recordings stays too.
	Keep int
	// Reread reads the recordings that an earlier backup has stored too, and copies damaged
	// ones anew. Without it only their sizes are compared.
	Reread bool
	// AcceptFewer accepts that meetings of earlier generations are missing: from
	// this generation on, they are no longer looked for.
	AcceptFewer bool
	// Progress, when set, is called after each file.
	Progress func(done, total int)
}

// Result counts the files that a backup wrote and removed.
type Result struct {
	Manifest   generation.Manifest `json:"-"`
	Generation string              `json:"generation"` // its name
	Copied     int                 `json:"copied"`     // files
	Kept       int                 `json:"kept"`       // recordings that an earlier backup had stored
	Replaced   int                 `json:"replaced"`   // of those copied: recordings whose earlier copies were damaged
	Bytes      int64               `json:"bytes"`      // copied, as stored
	Pruned     []string            `json:"pruned"`     // older generations that were removed
	// Doubts are the reasons why no older generation was removed although the new
	// one is whole: they may hold something that is lost here.
	Doubts []string `json:"doubts"`
	// Spared names the generation that stays beyond those to keep, and the reason.
	Spared []string `json:"spared,omitempty"`
	// Lost are the recordings that could not be backed up, for the archive's own
	// copies are missing or damaged. Nothing is removed then either.
	Lost []generation.Lost `json:"lost"`
	// Gone is the path of the newest of the generations that the directory had before, as
	// where another disk was mounted. It is "" where more are there now than are gone.
	Gone string `json:"-"`
}

// Run adds a generation to the directory of backups dest, a path or the address of a
// bucket, while the archive is used.
// It copies the inbox before the archive, so that a delivery that was acknowledged
// is in one of the two, and then the recordings that no earlier generation has. It
// reads everything back and writes the manifest last; until then there is no
// generation. Then it removes older generations, unless they hold anything that may
// be missing here. Each run begins by removing the rest of an interrupted one, but for the
// recordings, which it takes up. Run fails in a directory of another archive.
func Run(ctx context.Context, a *archive.Archive, dest string, o Options) (Result, error) {
	b := &run{archive: a, Options: o}
	err := b.run(ctx, dest)
	if sqlite.IsDamaged(err) && !errors.Is(err, archive.ErrDamaged) {
		err = fmt.Errorf("%w: %w", archive.ErrDamaged, err)
	}
	if err != nil {
		return Result{}, fmt.Errorf("back up to %s: %w", dest, err)
	}
	return b.result, nil
}

// run is one run of [Run].
type run struct {
	Options
	archive *archive.Archive
	dir     *directory
	name    string // of the generation
	earlier map[string]generation.File
	files   []generation.File
	fresh   []generation.File // the files that this run wrote
	blobs   []media.Blob      // the recordings that the databases name
	total   int
	result  Result

	lineage []string
	written map[string]generation.File // recordings, by this try or those before it
	// copied are written, or by an interrupted run: no generation has them, or not these bytes.
	// One without a size was being replaced, and its bytes are unknown.
	copied    map[string]generation.File
	replacing bool  // copied has recordings that generations have
	unnoted   int64 // bytes of written since copied was last noted
	outdated  bool  // the copied databases name a recording that was deleted meanwhile
}

func (b *run) run(ctx context.Context, dest string) (err error) {
	if b.dir, err = openDirectory(ctx, b.archive, dest); err != nil {
		return err
	}
	grace, end := pause.Grace(ctx)
	defer end()
	defer func() {
		if err != nil { // a meeting in the copy may be forgotten before the next backup clears the copy away
			err = errors.Join(err, b.clearAway(grace, err))
		}
		err = errors.Join(err, b.dir.unlock())
	}()
	if b.lineage, err = b.archive.Lineage(ctx); err != nil {
		return err
	}
	b.earlier, b.written, b.copied = map[string]generation.File{}, map[string]generation.File{}, map[string]generation.File{}
	for _, g := range b.dir.all {
		if err := refuseForeign(g, b.lineage); err != nil {
			return err
		}
		for _, f := range g.Files {
			b.earlier[f.Path] = f
		}
	}
	m, err := b.makeGeneration(ctx, grace)
	if err != nil {
		b.dir.making = "" // its folder is cleared away too
		return err
	}
	b.result.Manifest, b.result.Generation = m, b.name
	if b.result.Doubts, err = b.findDoubts(ctx, m); err != nil {
		return err
	}
	return b.prune(ctx, m)
}

// clearAway removes the files of a failed run. The recordings that it has copied stay for the
// next one, unless the disk is full, and forget goes on naming the generation for them. In a
// bucket that does not answer, the next run clears away. Where the disk of the directory was
// unmounted, all files go that were written below its mount point, and the notes of the disk stay.
func (b *run) clearAway(ctx context.Context, failure error) error {
	if b.name == "" || b.isAway(failure) {
		return nil
	}
	isMounted, err := b.isMounted(ctx)
	if err != nil {
		return err
	}
	isFull := errors.Is(sqlite.WrapDiskFull(failure), sqlite.ErrDiskFull)
	if err := b.dir.sweep(ctx, isFull || !isMounted); err != nil || !isMounted {
		return err
	}
	noted := slices.Clone(b.dir.all)
	if left, err := b.dir.unnamed(ctx); err != nil {
		return err
	} else if len(left) > 0 || b.replacing {
		if err := b.noteCopied(ctx); err != nil {
			return err
		}
		noted = append(noted, generation.Generation{Place: b.dir.place, Name: b.name, Number: generation.NumberIn(b.name), Damage: generation.ErrNone})
	}
	return b.archive.NoteGenerations(ctx, b.dir.place.String(), noted, false)
}

// isMounted reports whether the disk is there on which a failed run began its generation.
func (b *run) isMounted(ctx context.Context) (bool, error) {
	if missing, err := b.dir.findMissing(ctx); err != nil || missing != "" {
		return false, err
	}
	begun, err := b.dir.place.Files(ctx, b.name)
	if err != nil {
		return false, fmt.Errorf("list %s: %w", b.name, err)
	}
	return generation.IsBegun(b.name, begun), nil
}

// isAway reports whether an error may say that the bucket of the backups does not answer. That of
// the recordings keeps no local directory from being cleared.
func (b *run) isAway(err error) bool {
	return generation.LocalDir(b.dir.place) == "" && bucket.IsUnavailable(err)
}

// makeGeneration makes a generation without any meeting that was forgotten meanwhile, and
// without any recording that was deleted. It removes one that failed while grace lasts.
func (b *run) makeGeneration(ctx, grace context.Context) (generation.Manifest, error) {
	number := b.dir.highest + 1
	names, err := b.dir.place.Entries(ctx)
	if err != nil {
		return generation.Manifest{}, err
	}
	for _, name := range names {
		number = max(number, generation.NumberIn(name)+1)
	}
	b.readCopied(ctx, names)
	for tries := 0; tries < 5; number++ {
		b.name = generation.NameOf(number)
		copying, done := b.archive.UntilForget(ctx)
		m, again, err := b.tryGeneration(copying)
		if err != nil && errors.Is(context.Cause(copying), archive.ErrForgottenMeanwhile) {
			again, err = true, nil
		} else {
			tries++ // in full
		}
		done()
		if err == nil && !again {
			return m, nil
		}
		if !b.isAway(err) {
			g := generation.Generation{Place: b.dir.place, Name: b.name, Number: number}
			err = errors.Join(err, b.dir.remove(grace, g))
		}
		if err != nil {
			return m, err
		}
	}
	return generation.Manifest{}, errors.New("meetings are being forgotten, or recordings deleted, all the while; try again later")
}

// tryGeneration copies databases and recordings, reads them back and writes the
// manifest. again is true when a meeting was forgotten meanwhile, which may be in it, or a
// recording was deleted that the databases name or that an earlier run had copied; those that are
// written are not copied again.
func (b *run) tryGeneration(ctx context.Context) (m generation.Manifest, again bool, err error) {
	b.files, b.fresh, b.outdated, b.result = nil, nil, false, Result{Lost: []generation.Lost{}}
	m = generation.Manifest{Version: generation.Version, TakenAt: b.archive.Now().UTC().Truncate(time.Millisecond), Encrypted: len(b.Recipients) > 0,
		WithoutMedia: b.WithoutMedia, AcceptedFewer: b.AcceptFewer}
	before, open, err := b.archive.Tombstones(ctx)
	if err != nil {
		return m, false, err
	}
	// Noted first: whatever becomes of this run, forget looks here.
	g := generation.Generation{Place: b.dir.place, Name: b.name, Number: generation.NumberIn(b.name)}
	if err := b.archive.NoteBackup(ctx, g.Path()); err != nil {
		return m, false, err
	}
	// Before the rest of an interrupted one goes: forget knows of its recordings by a folder.
	if err := b.noteCopied(ctx); err != nil {
		return m, false, err
	}
	if err := b.archive.NoteBegun(ctx, g.Path(), m.TakenAt); err != nil {
		return m, false, err
	}
	b.dir.making = b.name
	if err := b.dir.sweep(ctx, false); err != nil { // runs that are killed each time would fill the disk
		return m, false, err
	}
	dbs, err := b.archive.DatabaseFiles(ctx)
	if err != nil {
		return m, false, err
	}
	b.total = len(dbs)
	for _, path := range dbs {
		if err := b.copyFile(ctx, path, &m); err != nil {
			return m, false, err
		}
	}
	if !b.WithoutMedia {
		if err := b.copyRecordings(ctx); err != nil || b.outdated {
			return m, b.outdated, err
		}
	}
	m.Files, m.Lost, m.IDs = b.files, b.result.Lost, append(m.IDs, open...) // of those the inbox may hold something
	slices.Sort(m.IDs)
	if err := generation.CheckFiles(ctx, b.dir.place, b.fresh); err != nil {
		return m, false, err
	}
	if vanished, err := b.findVanished(ctx); err != nil || vanished {
		return m, vanished, err
	}
	if err := generation.WriteManifest(ctx, b.dir.place, b.name, m); err != nil {
		return m, false, err
	}
	if err := generation.ForgetCopied(ctx, b.dir.place, b.name); err != nil {
		return m, false, err
	}
	after, remaining, err := b.archive.Tombstones(ctx)
	return m, len(after) != len(before) || len(remaining) != len(open), err
}
