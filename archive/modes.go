package archive

import (
	"os"
	"path/filepath"
)

// reportModes logs the data directory, what lies directly in it, directories and
// files, where others than the owner can reach it. Modes are not changed: someone
// may have meant them.
func (a *Archive) reportModes() {
	check := func(path string, allowed os.FileMode) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&^allowed == 0 {
			return
		}
		a.log.Warn().Str("path", path).Str("mode", info.Mode().Perm().String()).
			Msgf("others can reach this; chmod %o would close it", allowed)
	}
	check(a.dir, 0o700)
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		a.log.Warn().Err(err).Msg("look for files that others can reach")
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			check(filepath.Join(a.dir, e.Name()), 0o700)
		case e.Type().IsRegular():
			check(filepath.Join(a.dir, e.Name()), 0o600)
		}
	}
}
