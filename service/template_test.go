package service

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// emptyArchive returns the files of an archive with a service.db, both without
// content and of the newest schema. Migrating two databases costs more than most
// tests, so it is done once.
var emptyArchive = sync.OnceValues(func() (files map[string][]byte, err error) {
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	a, err := archive.Open(ctx, archive.Options{Dir: dir, Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	sql, err := fs.Sub(migrations, "migrations")
	if err == nil {
		_, err = a.SideDB(ctx, "service.db", sql, nil)
	}
	if err = errors.Join(err, a.Close()); err != nil {
		return nil, err
	}
	files = map[string][]byte{}
	return files, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	})
})

// ArchiveDir returns a new folder with an empty archive.
func ArchiveDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	files, err := emptyArchive()
	for name, content := range files {
		path := filepath.Join(dir, name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
