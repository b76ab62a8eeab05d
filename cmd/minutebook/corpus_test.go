package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"minutebook/control"
	"minutebook/internal/corpus"
	"minutebook/internal/testrun"
)

// TestDemoCorpus loads real meetings, a twentieth of them unless the run is long, into
// the demo's service; all of them arrive in the archive, each transcript entry byte
// for byte, and are indexed.
func TestDemoCorpus(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for _, name := range corpus.Files() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			want := sampleCorpus(t, name, path)
			dir := t.TempDir()
			p := start(t, "demo", "--dir", dir, "--meetings", path)
			within(t, 12*time.Minute, "all meetings arrive", func() (bool, any) {
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

// sampleCorpus writes a twentieth of the meetings in a file of the corpus, or all in a
// long run, to path, and returns them.
func sampleCorpus(t *testing.T, name, path string) (all []corpusMeeting) {
	t.Helper()
	lines := testrun.RealMeetings(t, name)
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	for i := 0; i < len(lines); i += rounds(4, 1) {
		var m corpusMeeting
		if err := json.Unmarshal(lines[i], &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		z.Write(append(lines[i], '\n'))
	}
	if err := errors.Join(z.Close(), os.WriteFile(path, file.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
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
