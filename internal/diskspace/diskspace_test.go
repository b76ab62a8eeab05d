package diskspace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"minutebook/internal/testrun"
)

func TestRead(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	if free, size, err := Read(dir); err != nil || free <= 0 || size < free {
		t.Errorf("%d free of %d, %v", free, size, err)
	}
	if _, _, err := Read(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a directory that does not exist: %v", err)
	}
}
