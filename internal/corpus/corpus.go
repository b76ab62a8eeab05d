// Package corpus finds and reads the corpus of real meetings, which is not part
// of the project: files of NDJSON, compressed, in the folder that
// MINUTEBOOK_CORPUS names, or in shared/corpus beside the repository.
package corpus

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrMissing is returned where the corpus is not on this machine.
var ErrMissing = errors.New("the corpus is not here; set MINUTEBOOK_CORPUS to its folder")

// Files are the names of the files with meetings.
func Files() []string { return []string{"akash.ndjson.gz", "qmsum.ndjson.gz"} }

// Dir is the corpus's folder. It fails with ErrMissing.
func Dir() (string, error) {
	dir := os.Getenv("MINUTEBOOK_CORPUS")
	if dir == "" {
		root, err := repository()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(filepath.Dir(root), "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "qmsum.ndjson.gz")); err != nil {
		return "", fmt.Errorf("look in %s: %w", dir, ErrMissing)
	}
	return dir, nil
}

// repository is the folder with go.mod above the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("look for the corpus: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("look for the corpus outside of the repository: %w", ErrMissing)
		}
		dir = parent
	}
}

// EachLine calls fn with every line of a gzipped file, until it fails. The line
// is fn's only until it returns.
func EachLine(path string, fn func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read corpus: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read corpus %s: %w", filepath.Base(path), err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(make([]byte, 1<<20), 64<<20)
	for s.Scan() {
		if err := fn(s.Bytes()); err != nil {
			return fmt.Errorf("read corpus %s: %w", filepath.Base(path), err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("read corpus %s: %w", filepath.Base(path), err)
	}
	return nil
}
