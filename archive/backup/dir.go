package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/archive/media"
	"minutebook/internal/durable"
	"minutebook/internal/phrase"
)

// directory is a directory of backups that this process alone changes.
type directory struct {
	place  generation.Place
	unlock func() error
	all    []generation.Generation
	// interrupted are the generations without a manifest at the beginning.
	interrupted []generation.Generation
	// recordings are the sizes of the files in the folder media at the beginning.
	recordings map[string]int64
	making     string // the name of the generation that is being made
	// away are the noted generations of another disk, and highest is the highest noted number.
	away    []string
	highest int
}

// ErrBusy is the failure of a second backup at the same time.
var ErrBusy = errors.New("another backup is being made there; try again when it is done")

// openDirectory locks a directory of backups, a path or the address of a bucket, and
// lists its generations. A bucket has no locks: there, only this archive's process is
// kept from making two backups at a time.
func openDirectory(ctx context.Context, a *archive.Archive, dest string) (d *directory, err error) {
	if dest, err = generation.Absolute(dest); err != nil {
		return nil, err
	}
	d = &directory{}
	if d.place, err = generation.OpenPlace(dest); err != nil {
		return nil, err
	}
	if d.unlock, err = d.lock(a); err != nil {
		return nil, err
	}
	err = d.list(ctx)
	if err == nil {
		d.away, d.highest, err = a.NoteAway(ctx, dest, slices.Concat(d.all, d.interrupted))
	}
	if err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	return d, nil
}

// list reads the directory. It fails where the folder of recordings is the one of
// [media] url of an archive, for clearing away would delete recordings that no backup names,
// and where a first backup would begin in a folder that is somebody else's.
func (d *directory) list(ctx context.Context) (err error) {
	if d.all, d.interrupted, err = generation.Inventory(ctx, d.place); err != nil {
		return err
	}
	if d.recordings, err = d.place.Files(ctx, "media"); err != nil {
		return fmt.Errorf("list recordings of the backup: %w", err)
	}
	if _, live := d.recordings["media/"+media.OwnerName]; live {
		return errors.New("the recordings of an archive are in its folder media ([media] url); back up to a directory of its own")
	}
	foreign := slices.Sorted(maps.Keys(d.recordings))
	foreign = slices.DeleteFunc(foreign, generation.IsRecording)
	if n := len(foreign); n > 0 && len(d.all) == 0 {
		const most = 3
		return fmt.Errorf("there is no backup in it, and its folder media has files of others (%s, %s in all); back up to a directory of its own",
			strings.Join(foreign[:min(n, most)], ", "), phrase.Count(n, "file", "files"))
	}
	return nil
}

func (d *directory) lock(a *archive.Archive) (unlock func() error, err error) {
	path := generation.LocalDir(d.place)
	if path == "" {
		unlock, ok := a.LockBuckets("backup")
		if !ok {
			return nil, ErrBusy
		}
		return unlock, nil
	}
	if err := a.CheckOutside(path); err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(path); err != nil {
		return nil, err
	}
	lock, err := archive.LockDir(path)
	if errors.Is(err, archive.ErrInUse) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, durable.ExplainAccess(path, err)
	}
	return func() error { return errors.Join(durable.GiveToOwner(path, "lock"), lock.Release()) }, nil
}

// remove deletes the manifest of a generation: without it the rest is an interrupted one, and
// sweep removes it by its name. The folder of one of the first version has a name that anybody's
// may have, so its manifest, which names it, goes last.
func (d *directory) remove(ctx context.Context, g generation.Generation) error {
	names := []string{g.ManifestFile()}
	if g.Number == 0 {
		names = []string{g.Name, g.ManifestFile()}
	}
	for _, name := range names {
		if err := d.place.Remove(ctx, name); err != nil {
			return err
		}
	}
	d.all = slices.DeleteFunc(d.all, func(other generation.Generation) bool { return other.Name == g.Name })
	return nil
}

// findMissing returns the name of a generation that has gone since the directory was listed, if any.
func (d *directory) findMissing(ctx context.Context) (name string, err error) {
	names, err := d.place.Entries(ctx)
	if err != nil {
		return "", fmt.Errorf("list backups: %w", err)
	}
	for _, g := range d.all {
		if file, _, _ := strings.Cut(g.ManifestFile(), "/"); !slices.Contains(names, file) {
			return g.Name, nil
		}
	}
	return "", nil
}

// unnamed returns the files with names of recordings that no manifest names. An unreadable
// manifest may name all of them.
func (d *directory) unnamed(ctx context.Context) (names []string, err error) {
	keep := map[string]bool{}
	for _, g := range d.all {
		if g.Damage != nil {
			return nil, nil
		}
		for _, f := range g.Files {
			keep[f.Path] = true
		}
	}
	recordings, err := d.place.Files(ctx, "media")
	if err != nil {
		return nil, fmt.Errorf("list recordings of the backup: %w", err)
	}
	for name := range recordings {
		if generation.IsRecording(name) && !keep[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// temporary matches the names of files that a killed backup was writing.
var temporary = regexp.MustCompile(`^` + regexp.QuoteMeta(durable.TempPrefix) + `[0-9]+$`)

// sweep removes all files that have names of backups and belong to no generation: the remains
// of an interrupted backup or removal, and recordings that no manifest names. Whole ones stay
// unless recordings is set: the next backup takes them up. Other files are other people's.
// While a manifest cannot be read, all recordings stay. Recordings go first: forget knows of them by
// the folder that is left.
func (d *directory) sweep(ctx context.Context, recordings bool) error {
	keep := map[string]bool{d.making: true}
	for _, g := range d.all {
		keep[g.Name] = true
	}
	names, err := d.place.Entries(ctx)
	if err == nil {
		err = d.place.SweepWrites(ctx, generation.IsOwn)
	}
	if err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	isOwn := func(name string) bool { return generation.NumberIn(name) > 0 || temporary.MatchString(name) }
	names = slices.DeleteFunc(names, func(name string) bool { return keep[name] || !isOwn(name) })
	media, err := d.unnamed(ctx)
	if err != nil {
		return err
	}
	names = append(slices.DeleteFunc(media, func(name string) bool { return !recordings && !temporary.MatchString(path.Base(name)) }), names...)
	for _, name := range names {
		if err := d.place.Remove(ctx, name); err != nil {
			return fmt.Errorf("remove what an interrupted backup left: %w", err)
		}
	}
	return nil
}
