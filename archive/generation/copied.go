package generation

import (
	"context"
	"fmt"
	"io"
	"path"
)

// copiedName is the file of an interrupted generation with the recordings that it has copied,
// as its manifest would have described them.
const copiedName = "copied.json"

// NoteCopied keeps the recordings that the generation of a name has copied, for the run after
// an interruption: nobody else knows the bytes of an encrypted one.
func NoteCopied(ctx context.Context, place Place, name string, m Manifest) error {
	raw, err := sign(m)
	if err == nil {
		err = place.Write(ctx, path.Join(name, copiedName), func(w io.Writer) error { _, err := w.Write(raw); return err })
	}
	if err != nil {
		return fmt.Errorf("note which recordings were copied: %w", err)
	}
	return nil
}

// ReadCopied returns the recordings that an interrupted generation has copied, none where that
// was not noted or is damaged.
func ReadCopied(ctx context.Context, place Place, name string) (files []File) {
	m, err := readSigned(ctx, place, path.Join(name, copiedName))
	if err != nil {
		return nil
	}
	for _, f := range m.Files {
		if IsRecording(f.Path) {
			files = append(files, f)
		}
	}
	return files
}

// ForgetCopied removes the list that NoteCopied has kept.
func ForgetCopied(ctx context.Context, place Place, name string) error {
	return place.Remove(ctx, path.Join(name, copiedName))
}

// IsBegun reports whether the files of the generation of a name are those of one that NoteCopied
// has begun, or that is whole.
func IsBegun(name string, files map[string]int64) bool {
	_, begun := files[path.Join(name, copiedName)]
	_, whole := files[path.Join(name, ManifestName)]
	return begun || whole
}
