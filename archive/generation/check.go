package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"minutebook/internal/bucket"
	"minutebook/internal/durable"
	"minutebook/internal/seal"
)

// Check reads a whole generation and compares it with its manifest. It fails with
// a [DamagedError] that names every file that is absent or differs.
func (g Generation) Check(ctx context.Context) error {
	if g.Damage != nil {
		return g.Damage
	}
	return CheckFiles(ctx, g.Place, g.Files)
}

// CheckFiles compares files of a directory of backups with their descriptions. It
// fails with a [DamagedError].
func CheckFiles(ctx context.Context, place Place, files []File) error {
	var damage []string
	for _, f := range files {
		damaged, err := checkFile(ctx, place, f)
		if err != nil {
			return fmt.Errorf("check backup: %w", err)
		}
		if damaged != "" {
			damage = append(damage, f.Path+": "+damaged)
		}
	}
	if len(damage) > 0 {
		return &DamagedError{place.String(), damage}
	}
	return nil
}

// checkFile returns the damage of a file, or "". A bucket that does not answer is no
// damage.
func checkFile(ctx context.Context, place Place, want File) (string, error) {
	f, err := place.Open(ctx, want.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "is missing", nil
	}
	if bucket.IsUnavailable(err) {
		return "", err
	}
	if err != nil {
		return err.Error(), ctx.Err()
	}
	defer f.Close()
	if file, ok := f.(*os.File); ok {
		durable.Uncache(file) // so that the disk is read, where the system allows it
	}
	d := seal.NewDigest()
	switch _, err := seal.Copy(ctx, d, f); {
	case bucket.IsUnavailable(err):
		return "", err
	case err != nil:
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
