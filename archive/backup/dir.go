package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/archive/generation"
	"minutebook/internal/durable"
)

// directory is a directory of backups that this process alone changes.
type directory struct {
	path string
	lock *archive.DirLock
	all  []generation.Generation
}

// openDirectory locks a directory of backups and lists its generations.
func openDirectory(path string) (*directory, error) {
	if err := durable.MkdirAll(path); err != nil {
		return nil, err
	}
	lock, err := archive.LockDir(path)
	if errors.Is(err, archive.ErrInUse) {
		return nil, errors.New("another process is making a backup there; try again when it is done")
	}
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, lock: lock}
	if d.all, err = generation.List(path); err != nil && !errors.Is(err, generation.ErrNone) {
		return nil, errors.Join(err, lock.Release())
	}
	return d, nil
}

// remove deletes a generation, its manifest first: without it the rest is no
// generation. sweep removes the recordings.
func (d *directory) remove(g generation.Generation) error {
	if err := durable.Remove(filepath.Join(g.Path(), generation.ManifestName)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(d.path, g.Name)); err != nil {
		return fmt.Errorf("remove generation: %w", err)
	}
	d.all = slices.DeleteFunc(d.all, func(other generation.Generation) bool { return other.Name == g.Name })
	return durable.SyncDir(d.path)
}

// sweep removes all files that belong to no generation: the remains of an interrupted
// backup or removal, and recordings that no manifest names. While a manifest cannot be read, all
// recordings stay.
func (d *directory) sweep() error {
	keep, readable := map[string]bool{}, true
	for _, g := range d.all {
		keep[g.Name] = true
		readable = readable && g.Damage == nil
		for _, f := range g.Files {
			keep[filepath.FromSlash(f.Path)] = true
		}
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("list backups: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		isOwn := generation.NumberIn(name) > 0 || strings.HasPrefix(name, generation.SnapshotPrefix) && readable || strings.HasPrefix(name, durable.TempPrefix)
		if !isOwn || keep[name] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(d.path, name)); err != nil {
			return fmt.Errorf("remove what an interrupted backup left: %w", err)
		}
	}
	if readable {
		err = d.sweepMedia(keep)
	}
	return errors.Join(err, durable.SyncDir(d.path))
}

func (d *directory) sweepMedia(keep map[string]bool) error {
	paths, err := fs.Glob(os.DirFS(d.path), "media/??/*")
	if err != nil {
		return fmt.Errorf("list recordings of the backup: %w", err)
	}
	for _, path := range paths {
		rel := filepath.FromSlash(path)
		if keep[rel] {
			continue
		}
		if err := durable.Remove(filepath.Join(d.path, rel)); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of all entries of the directory.
func (d *directory) names() (names []string) {
	entries, _ := os.ReadDir(d.path) // an unreadable one fails at the next step
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
