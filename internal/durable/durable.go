// Package durable writes files that are there, whole, after any crash.
//
// It promises that when a function returns without error, its effect survives a
// loss of power; and that at no moment is there a half-written file under the
// final name. A crash may leave a temporary file, whose name begins with
// TempPrefix, beside it.
package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// TempPrefix begins the names of files that are still being written.
const TempPrefix = ".tmp-"

// WriteFile replaces the file at path with data, readable by its owner alone:
// written beside it, synced, renamed over it, and the directory synced. On
// failure the old file is as it was, unless only the last sync failed: then
// either of the two is there.
func WriteFile(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Create is WriteFile for a file that is not there yet: where it is, also because another
// process creates it at this moment, it fails with [fs.ErrExist] and changes nothing. A
// crash can leave it empty.
func Create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err = errors.Join(f.Close(), WriteFile(path, data)); err != nil {
		return errors.Join(err, Remove(path))
	}
	return nil
}

// Write is WriteFile for content that fill produces. When fill fails, nothing
// has changed and its error is returned, wrapped.
func Write(path string, fill func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, TempPrefix+"*") // made with mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	temp := f.Name()
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temp)))
	}
	return SyncDir(dir)
}

// Rename moves a file, whose content the caller has synced, to its final name
// and syncs the directories concerned.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("rename to %s: %w", to, err)
	}
	if err := SyncDir(filepath.Dir(to)); err != nil {
		return err
	}
	if filepath.Dir(from) == filepath.Dir(to) {
		return nil
	}
	return SyncDir(filepath.Dir(from))
}

// Remove deletes a file for good; one that is not there is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return SyncDir(filepath.Dir(path))
}

// MkdirAll makes a directory and its missing parents, for the owner alone, and
// syncs every directory that gained an entry.
func MkdirAll(path string) error {
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("make directory %s: %w", path, syscall.ENOTDIR)
		}
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make directory %s: %w", path, err)
	}
	return SyncDir(parent)
}

// SyncDir makes the entries of a directory durable: files created, renamed or
// removed in it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	err = d.Sync()
	if runtime.GOOS != "linux" && errors.Is(err, syscall.EINVAL) {
		err = nil // file systems that cannot sync a directory say so this way
	}
	if err = errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
