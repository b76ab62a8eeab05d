package archive

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"minutebook/api"
	"minutebook/archive"
)

// BenchmarkCorpusSize: the database over the real meetings, at most 2.0 times
// their text.
func BenchmarkCorpusSize(b *testing.B) {
	dir := os.Getenv("MINUTEBOOK_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	for b.Loop() {
		data := b.TempDir()
		a := open(b, data)
		var text, json int64
		for _, name := range []string{"akash.ndjson.gz", "qmsum.ndjson.gz"} {
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				b.Skipf("the corpus is not there (set MINUTEBOOK_CORPUS): %v", err)
			}
			z, err := gzip.NewReader(f)
			if err != nil {
				b.Fatal(err)
			}
			lines := bufio.NewScanner(z)
			lines.Buffer(nil, 64<<20)
			for lines.Scan() {
				o, err := archive.FromMeeting("bench", archive.SourceList, start, append([]byte(nil), lines.Bytes()...))
				if err != nil {
					b.Fatal(err)
				}
				json += int64(len(lines.Bytes()))
				text += textOf(o.Parts[api.PartTranscript])
				if _, err := a.Apply(b.Context(), []archive.Observation{o}); err != nil {
					b.Fatal(err)
				}
			}
			f.Close()
		}
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(data, "archive.db"))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/float64(text), "size/text")
		b.ReportMetric(float64(info.Size())/float64(json), "size/json")
	}
}
