package archive

import (
	"os"
	"path/filepath"
)

// reportModes logs every database, lock or directory that others can read.
// They are not changed: someone may have meant it.
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
	check(filepath.Join(a.dir, "media"), 0o700)
	files, _ := filepath.Glob(filepath.Join(a.dir, "*.db*"))
	for _, f := range files {
		check(f, 0o600)
	}
}
