package years

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"minutebook/archive"
	"minutebook/internal/residue"
)

func (w *world) checkAllForgotten() { w.checkForgotten(slices.Sorted(maps.Keys(w.oracle.forgot))...) }

// checkForgotten looks for bytes of forgotten meetings.
func (w *world) checkForgotten(ids ...int64) {
	if len(ids) == 0 {
		return
	}
	var words []string
	for _, id := range ids {
		if _, err := w.house.archive.Row(context.Background(), id); !errors.Is(err, archive.ErrForgotten) {
			w.fail("meeting %d was forgotten: %v", id, err)
		}
		words = append(words, token(id))
	}
	dirs := []string{w.house.dir}
	if !w.bucket.isTroubled() {
		dirs = append(dirs, w.bucket.dir)
	}
	found := residue.FindAny(w.t, words, dirs...)
	for _, b := range w.backups { // those made afterwards
		later := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return !b.at.After(w.forgotAt[id]) })
		words = words[:0]
		for _, id := range later {
			words = append(words, token(id))
		}
		if len(words) > 0 {
			found = append(found, residue.FindAny(w.t, words, b.path)...)
		}
	}
	if len(found) > 0 {
		w.fail("bytes of the forgotten meetings %v are in %q", ids, found)
	}
}

// checkFiles looks for secrets in the data directory.
func (w *world) checkFiles() {
	if found := residue.FindAny(w.t, w.secrets(), w.house.dir); len(found) > 0 {
		w.fail("a secret is in %q", found)
	}
	found := residue.FindAny(w.t, w.app.newestTokens(), w.dir)
	found = slices.DeleteFunc(found, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "archive.db") })
	if len(found) > 0 {
		w.fail("a token is in %q", found)
	}
}
