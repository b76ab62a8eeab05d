package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"minutebook/internal/durable"
)

// check reads a whole generation and compares it with its manifest. It fails
// with a DamagedError that names every file that is missing or has another
// content.
func (g Generation) check(ctx context.Context) error {
	if g.Damage != nil {
		return g.Damage
	}
	return checkFiles(ctx, g.Dir, g.Files)
}

func checkFiles(ctx context.Context, dir string, files []ManifestFile) error {
	var damage []string
	for _, f := range files {
		what, err := checkFile(ctx, filepath.Join(dir, filepath.FromSlash(f.Path)), f)
		if err != nil {
			return fmt.Errorf("check backup: %w", err)
		}
		if what != "" {
			damage = append(damage, f.Path+": "+what)
		}
	}
	if len(damage) > 0 {
		return &DamagedError{dir, damage}
	}
	return nil
}

// checkFile says what is wrong with a file, or "".
func checkFile(ctx context.Context, path string, want ManifestFile) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil {
		return err.Error(), nil
	}
	defer f.Close()
	durable.Uncache(f) // the disk is asked, as far as that can be had
	c := &counter{Hash: sha256.New()}
	if _, err := io.Copy(c, contextReader{ctx, f}); err != nil {
		return err.Error(), ctx.Err()
	}
	switch {
	case c.n != want.Size:
		return fmt.Sprintf("has %d bytes instead of %d", c.n, want.Size), nil
	case c.sum() != want.SHA256:
		return "has another content than was written", nil
	}
	return "", nil
}
