package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

// Check reads a whole generation and compares it with its manifest. It fails with
// a [DamagedError] that names every file that is absent or differs.
func (g Generation) Check(ctx context.Context) error {
	if g.Damage != nil {
		return g.Damage
	}
	return CheckFiles(ctx, g.Dir, g.Files)
}

// CheckFiles compares files of a directory of backups with their descriptions. It
// fails with a [DamagedError].
func CheckFiles(ctx context.Context, dir string, files []File) error {
	var damage []string
	for _, f := range files {
		damaged, err := checkFile(ctx, filepath.Join(dir, filepath.FromSlash(f.Path)), f)
		if err != nil {
			return fmt.Errorf("check backup: %w", err)
		}
		if damaged != "" {
			damage = append(damage, f.Path+": "+damaged)
		}
	}
	if len(damage) > 0 {
		return &DamagedError{dir, damage}
	}
	return nil
}

// checkFile returns the damage of a file, or "".
func checkFile(ctx context.Context, path string, want File) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if err != nil {
		return err.Error(), nil
	}
	defer f.Close()
	durable.Uncache(f) // so that the disk is read, where the system allows it
	d := seal.NewDigest()
	if _, err := seal.Copy(ctx, d, f); err != nil {
		return err.Error(), ctx.Err()
	}
	switch {
	case d.Size() != want.Size:
		return fmt.Sprintf("has %d bytes instead of %d", d.Size(), want.Size), nil
	case d.SHA256() != want.SHA256:
		return "has another content than was written", nil
	}
	return "", nil
}
