package generation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"minutebook/internal/durable"
)

// folder is a place in a file system.
type folder string

func (d folder) path(name string) string {
	return filepath.Join(string(d), filepath.FromSlash(name))
}

// String is part of [Place].
func (d folder) String() string { return string(d) }

// Entries is part of [Place].
func (d folder) Entries(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Files is part of [Place].
func (d folder) Files(ctx context.Context, below string) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := fs.WalkDir(os.DirFS(string(d)), below, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !e.Type().IsRegular() {
			return errors.Join(err, ctx.Err())
		}
		info, err := e.Info()
		if err == nil {
			sizes[name] = info.Size()
		}
		return err
	})
	return sizes, err
}

// Open is part of [Place].
func (d folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(d.path(name))
}

// Write is part of [Place].
func (d folder) Write(_ context.Context, name string, fill func(io.Writer) error) error {
	if err := durable.MkdirAll(d.path(path.Dir(name))); err != nil {
		return err
	}
	if err := durable.Write(d.path(name), fill); err != nil {
		return err
	}
	d.give(name)
	return nil
}

// give gives a file that root has written to the owner of the directory, whose daemon reads
// it later. A backup that root alone can read is better than none.
func (d folder) give(name string) { _ = durable.GiveToOwner(string(d), name) }

// Create is part of [Place]. The lock of the directory keeps others away.
func (d folder) Create(_ context.Context, name string, content []byte) error {
	err := durable.WriteFile(d.path(name), content)
	if err == nil {
		d.give(name)
	}
	return err
}

// SweepWrites is part of [Place]. Lists show all files of a folder.
func (d folder) SweepWrites(context.Context, func(string) bool) error { return nil }

// Remove is part of [Place].
func (d folder) Remove(_ context.Context, name string) error {
	if err := os.RemoveAll(d.path(name)); err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	err := durable.SyncDir(filepath.Dir(d.path(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
