package search

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"minutebook/archive"
)

// corpusDir is where the real meetings are, or skips the test.
func corpusDir(t testing.TB) string {
	dir := os.Getenv("MINUTEBOOK_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "qmsum.ndjson.gz")); err != nil {
		t.Skipf("the corpus is not at %s; set MINUTEBOOK_CORPUS", dir)
	}
	return dir
}

// eachLine calls fn with every line of a gzipped file.
func eachLine(t testing.TB, path string, fn func(line []byte)) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(z)
	s.Buffer(make([]byte, 1<<20), 64<<20)
	for s.Scan() {
		fn(s.Bytes())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
}

// question is one of the corpus's questions.
type question struct {
	Query       string      `json:"query"`
	RecordingID int64       `json:"recording_id"`
	Spans       [][2]string `json:"spans"`
}

func loadCorpus(t testing.TB, a *archive.Archive, dir string) {
	for _, name := range []string{"akash.ndjson.gz", "qmsum.ndjson.gz"} {
		var batch []archive.Observation
		flush := func() {
			if _, err := a.Apply(context.Background(), batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
		eachLine(t, filepath.Join(dir, name), func(line []byte) {
			raw := append([]byte(nil), line...)
			var head struct {
				CreatedAt time.Time `json:"created_at"`
			}
			if err := json.Unmarshal(raw, &head); err != nil {
				t.Fatal(err)
			}
			o, err := archive.FromMeeting("main", archive.SourceList, head.CreatedAt, raw)
			if err != nil {
				t.Fatal(err)
			}
			if batch = append(batch, o); len(batch) == 20 {
				flush()
			}
		})
		flush()
	}
}
