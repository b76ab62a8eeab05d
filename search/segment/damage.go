package segment

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ErrDamaged is returned by a search that came upon damaged index files. The
// index is built anew meanwhile.
var ErrDamaged = errors.New("the search index is damaged and is being built anew")

// recovered turns a panic of the index library over damaged files into an
// error.
func RecoverDamage(what, path string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s search index %s: %w: %v", what, filepath.Base(path), ErrDamaged, p)
	}
}
