package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrForeignFiles: the directory holds files of somebody else, so no archive is created
// in it. Some of its names would be those of the archive's own files, which are repaired,
// emptied and removed.
var ErrForeignFiles = errors.New("it holds other files")

// CheckFree fails with [ErrForeignFiles] when an archive cannot be created in a directory
// because of files that are no archive's. It accepts a directory that is not there or has
// an archive, hidden files, and configurations with their keys.
func CheckFree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	var foreign []string
	for _, e := range entries {
		if e.Name() == "archive.db" {
			return nil
		}
		if !mayBeBeside(dir, e) {
			foreign = append(foreign, e.Name())
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	shown := strings.Join(foreign[:min(3, len(foreign))], ", ")
	if more := len(foreign) - 3; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("create an archive in %s: %w (%s); give it a directory of its own, such as %s",
		dir, ErrForeignFiles, shown, filepath.Join(dir, "minutebook"))
}

// mayBeBeside reports whether an entry of a directory hinders no new archive there.
func mayBeBeside(dir string, e fs.DirEntry) bool {
	name := e.Name()
	switch {
	case strings.HasPrefix(name, "."), name == "lost+found":
		return true
	case !e.IsDir(): // the archive's own are the remains of a first start that was interrupted
		return name == "lock" || strings.HasPrefix(name, "archive.db-") || slices.Contains([]string{".toml", ".key", ".sock"}, filepath.Ext(name))
	case name == "media": // a disk of its own
		return holdsOnly(filepath.Join(dir, name), "lost+found")
	case name == "index": // which is nothing: it can be made again
		return holdsOnly(filepath.Join(dir, name), "lost+found", "v[0-9]*-[0-9]*")
	}
	_, err := os.Lstat(filepath.Join(dir, name, "lock"))
	return err == nil || holdsOnly(filepath.Join(dir, name)) // another archive, such as the demo's, or nothing
}

// holdsOnly reports whether every entry of a directory matches one of the patterns.
func holdsOnly(dir string, patterns ...string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := filepath.Match(pattern, e.Name())
			return ok && err == nil
		})
	})
}
