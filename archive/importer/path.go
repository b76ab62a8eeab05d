package importer

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/internal/seal"
)

// ReadPath imports a file, plain, compressed (gzip) or encrypted (age), or the
// directory of an earlier export in the format json or ndjson. Encrypted files need
// identities. The result names wrong lines with their file.
func ReadPath(ctx context.Context, a *archive.Archive, o Options, path string, identities ...age.Identity) (Result, error) {
	var all Result
	files, err := listFiles(path)
	if err != nil {
		return all, fmt.Errorf("import %s: %w", path, err)
	}
	for _, file := range files {
		done := all.Read
		perFile := o
		if o.Progress != nil {
			perFile.Progress = func(n int) { o.Progress(done + n) }
		}
		r, err := readFile(ctx, a, perFile, file, identities)
		all.Read += r.Read
		all.New += r.New
		all.Changed += r.Changed
		all.Forgotten += r.Forgotten
		all.Notes += r.Notes
		for _, w := range r.Wrong {
			w.File = file
			all.Wrong = append(all.Wrong, w)
		}
		if err != nil {
			return all, fmt.Errorf("import %s: %w", file, err)
		}
	}
	return all, nil
}

// plainName returns the name that a file had before it was compressed and encrypted.
func plainName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".age"), ".gz")
}

// isNotes reports whether a file of an export holds the rows of notes.db instead of meetings.
func isNotes(path string) bool { return plainName(path) == notes.FileName }

// readNotes imports the notes, ticks, merged people and saved searches of an export.
func readNotes(ctx context.Context, o Options, r io.Reader) (Result, error) {
	if o.Notes == nil {
		return Result{}, nil
	}
	sum, err := o.Notes.ReadLines(ctx, r, o.Authors)
	result := Result{Notes: sum.New}
	for _, line := range sum.Wrong {
		result.Wrong = append(result.Wrong, Wrong{Line: line, Err: notes.ErrLine})
	}
	return result, err
}

// listFiles returns the files of a path that can be imported.
func listFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := plainName(p)
		hidden := strings.HasPrefix(name, ".") && p != path
		if d.IsDir() {
			if hidden {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".json", ".ndjson", ".jsonl":
			if !hidden && d.Type().IsRegular() {
				files = append(files, p)
			}
		}
		return nil
	})
	// Notes come last: their meetings have to be there.
	slices.SortStableFunc(files, func(a, b string) int {
		switch x, y := isNotes(a), isNotes(b); {
		case x && !y:
			return 1
		case y && !x:
			return -1
		}
		return 0
	})
	if err == nil && len(files) == 0 {
		err = errors.New("there is no .json or .ndjson file in it; exports as md, html, txt or subtitles cannot be read back")
	}
	return files, err
}

// readFile imports one file.
func readFile(ctx context.Context, a *archive.Archive, o Options, path string, identities []age.Identity) (Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if o.At.IsZero() {
		info, err := f.Stat()
		if err != nil {
			return Result{}, err
		}
		o.At = info.ModTime()
		if now := a.Now(); o.At.After(now) {
			o.At = now
		}
	}
	r, err := decode(f, identities)
	if err != nil {
		return Result{}, err
	}
	if isNotes(path) {
		return readNotes(ctx, o, r)
	}
	return Read(ctx, a, o, r)
}

// decode decrypts, then decompresses, when the first bytes are those of such a file.
func decode(r io.Reader, identities []age.Identity) (io.Reader, error) {
	br, err := seal.Reader(r, identities)
	if err != nil {
		return nil, err
	}
	if head, _ := br.Peek(2); string(head) != "\x1f\x8b" {
		return br, nil
	}
	content, err := gzip.NewReader(br)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return content, nil
}
