package archive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"minutebook/archive/media"
)

// reportModes logs files and directories of the data directory that others than the
// owner can reach: the directory, its entries, and the directories below. Verify
// checks the deeper levels, with all recordings. Modes are not changed, because they
// may be intended.
func (a *Archive) reportModes(ctx context.Context) {
	err := eachWide(ctx, a.dir, 2, func(path string, mode, private os.FileMode) {
		a.log.Warn().Str("path", path).Str("mode", mode.String()).
			Str("private", fmt.Sprintf("%o", private)).Msg("others can reach this; chmod it to the mode in private")
	})
	if err != nil {
		a.log.Warn().Err(err).Msg("look for files that others can reach")
	}
}

// everyLevel makes eachWide visit all levels.
const everyLevel = 1 << 20

// eachWide calls fn for dir and everything below it whose mode is wider than 0700 for
// a directory or 0600 for a file. private is the mode without the excess bits. On the
// last level it visits directories only. It follows links. It skips the files that
// file managers and network storage leave everywhere, and files that vanish
// meanwhile.
func eachWide(ctx context.Context, dir string, levels int, fn func(path string, mode, private os.FileMode)) error {
	check := func(path string, info os.FileInfo, allowed os.FileMode) {
		if mode := info.Mode().Perm(); mode&^allowed != 0 {
			fn(path, mode, mode&allowed)
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look for files that others can reach: %w", err)
	}
	check(dir, info, 0o700)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for files that others can reach: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if media.IsSideFile(e.Name()) || levels == 1 && e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case err != nil: // vanished, or a broken link
		case info.IsDir() && levels > 1:
			if err := eachWide(ctx, path, levels-1, fn); err != nil {
				return err
			}
		case info.IsDir():
			check(path, info, 0o700)
		case info.Mode().IsRegular() && levels > 1:
			check(path, info, 0o600)
		}
	}
	return nil
}

// modesNamed is the number of files and directories that Verify names one by one.
const modesNamed = 50

// checkModes reports everything that others can reach, recordings included.
func (c *check) checkModes(ctx context.Context, _ VerifyOptions, found func(Damage)) error {
	roots := []string{c.archive.dir}
	if dir := media.Dir(c.archive.media); dir != "" && !strings.HasPrefix(dir, c.archive.dir+string(filepath.Separator)) {
		if _, err := os.Stat(dir); err == nil { // else checkMedia says so
			roots = append(roots, dir)
		}
	}
	n := 0
	for _, root := range roots {
		err := eachWide(ctx, root, everyLevel, func(path string, mode, private os.FileMode) {
			if n++; n <= modesNamed {
				found(Damage{Class: DamageMode, Path: path, What: fmt.Sprintf("others can reach this (%s); chmod %o would close it", mode, private)})
			}
		})
		if err != nil {
			return err
		}
	}
	if n > modesNamed {
		found(Damage{Class: DamageMode, Path: c.archive.dir, What: fmt.Sprintf("others can reach %d files and directories more", n-modesNamed)})
	}
	return nil
}
