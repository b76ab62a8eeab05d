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
// fails with a [DamagedError], or as FindDamaged does.
func CheckFiles(ctx context.Context, place Place, files []File) error {
	damaged, err := FindDamaged(ctx, place, files)
	if err == nil && len(damaged) > 0 {
		err = DamagedFiles(place, damaged)
	}
	return err
}

// DamagedFile is a file of a backup that is absent, or differs from its description.
type DamagedFile struct {
	File
	Reason string
}

// FindDamaged returns the damaged ones among files of a directory of backups. It fails where a
// bucket does not answer.
func FindDamaged(ctx context.Context, place Place, files []File) (damaged []DamagedFile, err error) {
	for _, f := range files {
		reason, err := checkFile(ctx, place, f)
		if err != nil {
			return nil, fmt.Errorf("check backup: %w", err)
		}
		if reason != "" {
			damaged = append(damaged, DamagedFile{f, reason})
		}
	}
	return damaged, nil
}

// DamagedFiles returns the error that names damaged files.
func DamagedFiles(place Place, files []DamagedFile) *DamagedError {
	e := &DamagedError{Dir: place.String()}
	for _, f := range files {
		e.Damage = append(e.Damage, f.Path+": "+f.Reason)
	}
	return e
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
