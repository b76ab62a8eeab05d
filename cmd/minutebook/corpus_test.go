package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/corpus"
	"minutebook/internal/testrun"
)

// corpusFile finds a file of real meetings, or skips the test.
func corpusFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := corpus.Dir()
	if err != nil {
		t.Skip(err)
	}
	return filepath.Join(dir, name)
}

// TestDemoCorpus loads real meetings into the demo's service; all of them
// arrive in the archive, each transcript entry byte for byte, and are indexed.
func TestDemoCorpus(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, name := range []string{"akash.ndjson.gz", "qmsum.ndjson.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := corpusFile(t, name)
			want := readCorpus(t, path)
			dir := t.TempDir()
			p := start(t, "demo", "--dir", dir, "--meetings", path)
			eventually(t, 12*time.Minute, "all meetings arrive", func() (bool, any) {
				time.Sleep(time.Second)
				s := status(t, dir)
				return s.Meetings == len(want) && s.WithTranscript == len(want) && s.Indexed == len(want), s
			})
			p.stop()
			compareTranscripts(t, dir, want)
			found := runJSON[control.SearchResult](t, "search", "--data", dir, "the")
			if found.Total == 0 {
				t.Error("a search finds nothing")
			}
		})
	}
}

type corpusMeeting struct {
	RecordingID int64             `json:"recording_id"`
	Transcript  []json.RawMessage `json:"transcript"`
}

func readCorpus(t *testing.T, path string) []corpusMeeting {
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
	var all []corpusMeeting
	s := bufio.NewScanner(z)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var m corpusMeeting
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if s.Err() != nil || len(all) == 0 {
		t.Fatalf("read %d meetings of %s: %v", len(all), path, s.Err())
	}
	return all
}

// compareTranscripts reads every meeting back with the `show` command's
// operation and compares each entry's bytes.
func compareTranscripts(t *testing.T, dir string, want []corpusMeeting) {
	t.Helper()
	p := start(t, "serve", "--data", dir)
	defer p.stop()
	client, err := control.Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, w := range want {
		shown, err := control.Call[control.ShowResult](t.Context(), client, "show", control.ShowRequest{RecordingID: w.RecordingID}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got corpusMeeting
		if err := json.Unmarshal(shown.Meeting, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Transcript) != len(w.Transcript) {
			t.Errorf("meeting %s has %d entries, want %d", strconv.FormatInt(w.RecordingID, 10), len(got.Transcript), len(w.Transcript))
			continue
		}
		for i := range w.Transcript {
			if !bytes.Equal(got.Transcript[i], w.Transcript[i]) {
				t.Errorf("meeting %d, entry %d:\n got %s\nwant %s", w.RecordingID, i, got.Transcript[i], w.Transcript[i])
				break
			}
		}
	}
}
