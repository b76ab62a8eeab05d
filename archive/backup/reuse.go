package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"minutebook/archive/generation"
	"minutebook/archive/media"
)

// readCopied reads which recordings the interrupted generations among the names of a
// directory have copied.
func (b *run) readCopied(ctx context.Context, names []string) {
	for _, name := range names {
		if generation.NumberIn(name) == 0 || slices.ContainsFunc(b.dir.all, func(g generation.Generation) bool { return g.Name == name }) {
			continue
		}
		for _, f := range generation.ReadCopied(ctx, b.dir.place, name) {
			_, known := b.earlier[f.Path]
			b.copied[f.Path], b.replacing = f, b.replacing || known
		}
	}
}

// noteCopied keeps a list of the recordings that this run and interrupted ones have copied.
func (b *run) noteCopied(ctx context.Context) error {
	b.unnoted = 0
	m := generation.Manifest{Version: generation.Version, Lineage: b.lineage, Files: slices.Collect(maps.Values(b.copied))}
	return generation.NoteCopied(ctx, b.dir.place, b.name, m)
}

// noteEvery is the number of copied bytes after which a run notes its recordings, for the case
// that it is killed.
const noteEvery = 64 << 20

// takeUp returns a recording that an interrupted run has copied, when its bytes are those that
// were written. The name is the hash of a plain one; of an encrypted one that must be noted.
func (b *run) takeUp(ctx context.Context, blob media.Blob, path string) (f generation.File, intact bool, err error) {
	size, found := b.dir.recordings[path]
	f, noted := b.copied[path]
	if !noted && b.sealedSuffix() == "" {
		f, noted = generation.File{Path: path, Size: size, SHA256: blob.SHA256, PlainSize: size, PlainSHA256: blob.SHA256}, true
	}
	if !found || !noted {
		return f, false, nil
	}
	damaged, err := generation.FindDamaged(ctx, b.dir.place, []generation.File{f})
	return f, err == nil && len(damaged) == 0, err
}

// noteReplacing notes before the replacement of an encrypted recording that its bytes are unknown
// from now on. A run that is killed leaves bytes of the size that the manifests name, and other
// ones: without the note, the next run would take them for those of the manifests.
func (b *run) noteReplacing(ctx context.Context, path string) error {
	if b.sealedSuffix() == "" {
		return nil
	}
	b.copied[path], b.replacing = generation.File{Path: path}, true
	return b.noteCopied(ctx)
}

// isIntact reports whether a file of an earlier backup is still whole: by its size, and
// where the run rereads such files by its content.
func (b *run) isIntact(ctx context.Context, f generation.File) (bool, error) {
	if size, found := b.dir.recordings[f.Path]; !found || size != f.Size || !b.Reread {
		return found && size == f.Size, nil
	}
	damaged, err := generation.FindDamaged(ctx, b.dir.place, []generation.File{f})
	return len(damaged) == 0, err
}

// findVanished lists the directory again before the manifest is written, and reports whether a
// recording is gone that the run takes from an earlier one: a disk can fail, and a person can
// delete files. The next try copies it anew. It fails where an earlier generation is gone, as
// where the disk of the directory was unmounted.
func (b *run) findVanished(ctx context.Context) (vanished bool, err error) {
	missing, err := b.dir.findMissing(ctx)
	if err != nil {
		return false, err
	}
	if missing != "" {
		return false, fmt.Errorf("%s has gone since the backup began: see whether the disk of the backups is mounted, and back up again", missing)
	}
	if b.dir.recordings, err = b.dir.place.Files(ctx, "media"); err != nil {
		return false, fmt.Errorf("list recordings of the backup: %w", err)
	}
	for _, f := range b.files {
		size, found := b.dir.recordings[f.Path]
		vanished = vanished || generation.IsRecording(f.Path) && (!found || size != f.Size)
	}
	return vanished, nil
}
