package segment

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ErrDamaged is returned by a search that came upon damaged index files. The
// index is built anew meanwhile.
var ErrDamaged = errors.New("the search index is damaged and is being built anew")

// RecoverDamage is deferred where damaged files are read: it turns a panic into
// [ErrDamaged]. Reads past the end of a mapped file panic after debug.SetPanicOnFault.
func RecoverDamage(what, path string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s search index %s: %w: %v", what, filepath.Base(path), ErrDamaged, p)
	}
}
