package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/backup"
	"minutebook/archive/generation"
)

// replaceBackups makes a new generation in every directory of the given ones, and
// then removes the given ones, those of a forgotten meeting.
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
		all, err := generation.List(ctx, dir)
		switch {
		case errors.Is(err, generation.ErrNone) && areThere(ctx, dir, f.Backups): // interrupted ones
			err = backup.Remove(ctx, h.Archive, dir, f.Backups)
		case err == nil:
			newest := all[len(all)-1]
			// One with recordings would lose them where the new one has none.
			withMedia := slices.ContainsFunc(all, func(g generation.Generation) bool { return !g.WithoutMedia })
			isEncrypted := slices.ContainsFunc(all, func(g generation.Generation) bool { return g.Encrypted })
			switch {
			case newest.Damage != nil:
				err = fmt.Errorf("nothing was removed from %s, since nobody can tell whether its newest backup is encrypted (%w): make another one there, and try again", dir, newest.Damage)
			case isEncrypted && len(keys) == 0:
				err = fmt.Errorf("the backups in %s are encrypted: say for whom with --recipient", dir)
			default:
				err = h.replaceGenerations(ctx, dir, f.Backups, backup.Options{Recipients: keys, WithoutMedia: !withMedia})
			}
		}
		failed = errors.Join(failed, err)
		if place, err := generation.OpenPlace(dir); err == nil && generation.KeepsVersions(ctx, place) {
			f.Versions = append(f.Versions, dir)
		}
	}
	return failed
}

// areThere reports whether a directory of backups has all generations among the given ones
// that are its own. It has none where its disk is not mounted.
func areThere(ctx context.Context, dir string, paths []string) bool {
	place, err := generation.OpenPlace(dir)
	if err != nil {
		return false
	}
	names, err := place.Entries(ctx)
	return err == nil && !slices.ContainsFunc(paths, func(path string) bool {
		in, name := generation.SplitPath(path)
		return in == dir && !slices.Contains(names, name)
	})
}

func (h Deps) replaceGenerations(ctx context.Context, dir string, paths []string, o backup.Options) error {
	r, err := backup.Run(ctx, h.Archive, dir, o)
	if err != nil {
		return err
	}
	if len(r.Doubts) > 0 {
		return fmt.Errorf("nothing was removed from %s: %s", dir, strings.Join(r.Doubts, "; "))
	}
	if len(r.Lost) > 0 {
		return fmt.Errorf("nothing was removed from %s: %s; verify --repair says more", dir, r.Lost[0])
	}
	return backup.Remove(ctx, h.Archive, dir, paths)
}
