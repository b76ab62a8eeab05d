package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
)

// replaceBackups makes a new generation in every directory where the given ones are, those of a
// forgotten meeting, and then removes those that have it.
func (h Deps) replaceBackups(ctx context.Context, f *archive.Forgotten, recipients []string) error {
	keys, err := h.recipients(recipients)
	if err != nil {
		return err
	}
	dirs := map[string]bool{}
	for _, path := range f.Backups {
		dirs[generation.DirOf(path)] = true
	}
	var failed error
	for dir := range dirs {
		failed = errors.Join(failed, h.replaceIn(ctx, dir, f, keys))
		if place, err := generation.OpenPlace(dir); err == nil && generation.KeepsVersions(ctx, place) {
			f.Versions = append(f.Versions, dir)
		}
	}
	return failed
}

// replaceIn replaces the generations with a meeting in a directory of backups. It does nothing
// where none of them is there, as where the disk is away or is another one.
func (h Deps) replaceIn(ctx context.Context, dir string, f *archive.Forgotten, keys []age.Recipient) error {
	place, err := generation.OpenPlace(dir)
	if err != nil {
		return err
	}
	all, interrupted, err := generation.Inventory(ctx, place)
	if err != nil {
		return err
	}
	isNamed := func(g generation.Generation) bool { return slices.Contains(f.Backups, g.Path()) }
	// One with recordings would lose them where the new one has none.
	withMedia := slices.ContainsFunc(all, func(g generation.Generation) bool { return !g.WithoutMedia })
	isEncrypted := slices.ContainsFunc(all, func(g generation.Generation) bool { return g.Encrypted })
	switch {
	case !slices.ContainsFunc(slices.Concat(all, interrupted), isNamed):
		return nil
	case len(all) == 0:
		return backup.Remove(ctx, h.Archive, dir, f.Backups, f.RecordingID)
	case all[len(all)-1].Damage != nil:
		return fmt.Errorf("nothing was removed from %s, since nobody can tell whether its newest backup is encrypted (%w): make another one there, and try again", dir, all[len(all)-1].Damage)
	case isEncrypted && len(keys) == 0:
		return fmt.Errorf("the backups in %s are encrypted: say for whom with --recipient", dir)
	}
	r, err := backup.Run(ctx, h.Archive, dir, backup.Options{Recipients: keys, WithoutMedia: !withMedia})
	if err != nil {
		return err
	}
	if len(r.Doubts) > 0 {
		return fmt.Errorf("nothing was removed from %s: %s", dir, strings.Join(r.Doubts, "; "))
	}
	if len(r.Lost) > 0 {
		return fmt.Errorf("nothing was removed from %s: %s; verify --repair says more", dir, r.Lost[0])
	}
	return backup.Remove(ctx, h.Archive, dir, f.Backups, f.RecordingID)
}
