package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/internal/sqlite"
)

// readForgotten returns the meetings that were forgotten after the generation was made:
// those that the directory of backups knows, and those of the data directories of the
// same archive that are named or lie beside the new one.
func (r *restore) readForgotten(ctx context.Context) ([]generation.Forgotten, error) {
	all, err := generation.ReadForgotten(ctx, r.from.Place)
	if err != nil {
		return nil, err
	}
	old, err := r.readOldData(ctx)
	return append(all, old...), err
}

// readOldData returns the meetings that data directories of the same archive have
// forgotten: those that are named, and those that lie beside the new one.
func (r *restore) readOldData(ctx context.Context) (all []generation.Forgotten, err error) {
	r.oldData = 0
	for _, dir := range r.OldData {
		list, same, err := r.readTombstones(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("read which meetings %s has forgotten: %w", dir, err)
		}
		if !same {
			return nil, fmt.Errorf("%s belongs to another archive; leave it out", dir)
		}
		all = append(all, list...)
		r.oldData++
	}
	dirs, err := r.findBeside()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		list, same, err := r.readTombstones(ctx, dir)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			r.Logger.Warn().Err(err).Str("dir", dir).Msg("this data directory cannot be read: meetings that were forgotten only there are back")
		case same:
			all = append(all, list...)
			r.oldData++
		}
	}
	return all, nil
}

// findBeside returns the other data directories in the parent of the new one: whoever
// restores usually moves the old one aside.
func (r *restore) findBeside() (dirs []string, err error) {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, err
	}
	parent := filepath.Dir(dir)
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	for _, e := range entries {
		other := filepath.Join(parent, e.Name())
		if info, err := os.Stat(filepath.Join(other, "archive.db")); err == nil && info.Mode().IsRegular() && other != dir {
			dirs = append(dirs, other)
		}
	}
	return dirs, err
}

// readTombstones reads the forgotten meetings of a data directory, which a process may
// use meanwhile. same is false when it belongs to another archive.
func (r *restore) readTombstones(ctx context.Context, dir string) (list []generation.Forgotten, same bool, err error) {
	path := filepath.Join(dir, "archive.db")
	if _, err := os.Stat(path); err != nil {
		return nil, false, err
	}
	params := "?mode=ro&_busy_timeout=5000"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		params += "&immutable=1" // no process uses it, and nothing is written beside it
	}
	db := sqlite.Connect(path, params, nil)
	defer db.Close()
	lineage, err := archive.ReadLineage(ctx, db)
	if err != nil || lineage[0] != r.m.Lineage[0] {
		return nil, false, err
	}
	list, err = archive.ReadForgotten(ctx, db)
	return list, true, err
}
