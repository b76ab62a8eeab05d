package archive

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// ImportPath takes in a file, plain, compressed (gzip) or encrypted (age), or
// the directory of an earlier export in one of the formats json and ndjson. The
// content dates from when its file was written. identities are needed for
// encrypted files alone. Wrong lines are named with their file.
func (a *Archive) ImportPath(ctx context.Context, o ImportOptions, path string, identities ...age.Identity) (ImportResult, error) {
	var all ImportResult
	files, err := importFiles(path)
	if err != nil {
		return all, fmt.Errorf("import %s: %w", path, err)
	}
	for _, file := range files {
		done := all.Read
		one := o
		if o.Progress != nil {
			one.Progress = func(n int) { o.Progress(done + n) }
		}
		r, err := a.importFile(ctx, one, file, identities)
		all.Read += r.Read
		all.New += r.New
		all.Changed += r.Changed
		all.Forgotten += r.Forgotten
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

// importFiles lists what of a path can be imported.
func importFiles(path string) ([]string, error) {
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
		name := strings.TrimSuffix(strings.TrimSuffix(d.Name(), ".age"), ".gz")
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
	if err == nil && len(files) == 0 {
		err = errors.New("there is no .json or .ndjson file in it; exports as md, html, txt or subtitles cannot be read back")
	}
	return files, err
}

func (a *Archive) importFile(ctx context.Context, o ImportOptions, path string, identities []age.Identity) (ImportResult, error) {
	f, err := os.Open(path)
	if err != nil {
		return ImportResult{}, err
	}
	defer f.Close()
	if o.At.IsZero() {
		info, err := f.Stat()
		if err != nil {
			return ImportResult{}, err
		}
		o.At = info.ModTime()
		if now := a.now(); o.At.After(now) {
			o.At = now
		}
	}
	r, err := unwrap(f, identities)
	if err != nil {
		return ImportResult{}, err
	}
	return a.Import(ctx, o, r)
}

// unwrap undoes encryption, then compression, as the first bytes tell.
func unwrap(r io.Reader, identities []age.Identity) (io.Reader, error) {
	br := bufio.NewReader(r)
	if head, _ := br.Peek(len(ageMagic)); string(head) == ageMagic {
		if len(identities) == 0 {
			return nil, errors.New("it is encrypted with age, and no identity was given")
		}
		plain, err := age.Decrypt(br, identities...)
		if err != nil {
			return nil, fmt.Errorf("decrypt: %w", err)
		}
		br = bufio.NewReader(plain)
	}
	if head, _ := br.Peek(2); string(head) == "\x1f\x8b" {
		plain, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		return plain, nil
	}
	return br, nil
}

// ageMagic begins every age file.
const ageMagic = "age-encryption.org/"
