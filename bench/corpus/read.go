package corpus

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrMissing is returned where the corpus is not on this machine.
var ErrMissing = errors.New("the corpus is not here; set MINUTEBOOK_CORPUS to its folder")

// Dir is the corpus's folder. It fails with ErrMissing.
func Dir() (string, error) {
	dir := os.Getenv("MINUTEBOOK_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "qmsum.ndjson.gz")); err != nil {
		return "", fmt.Errorf("look in %s: %w", dir, ErrMissing)
	}
	return dir, nil
}

// Files are the names of the files with meetings.
func Files() []string { return []string{"akash.ndjson.gz", "qmsum.ndjson.gz"} }

// Question is a question in plain English, the meeting that answers it, and
// the stretches of the recording where, as offsets HH:MM:SS.
type Question struct {
	Query       string      `json:"query"`
	RecordingID int64       `json:"recording_id"`
	Spans       [][2]string `json:"spans"`
}

// Questions reads the corpus's questions.
func Questions(dir string) ([]Question, error) {
	var out []Question
	err := EachLine(filepath.Join(dir, "qmsum-queries.ndjson.gz"), func(line []byte) error {
		var q Question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		out = append(out, q)
		return nil
	})
	return out, err
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
