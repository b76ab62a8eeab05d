package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// TestPiecesLoseNothing reads transcripts in pieces whose times go back, share a second, are
// far out, or cannot be read: every entry comes once, in its order.
func TestPiecesLoseNothing(t *testing.T) {
	s := newServer(t, archive.Viewer{All: true})
	c := connect(t, s)
	id := int64(900)
	for name, at := range map[string]func(i int) string{
		"back by a second": func(i int) string { return api.FormatOffset(time.Duration(i-i%2*2) * time.Second) },
		"two recordings":   func(i int) string { return api.FormatOffset(time.Duration(i%50) * time.Second) },
		"one second":       func(i int) string { return fmt.Sprintf("00:00:01.%03d", i) },
		"weeks in":         func(i int) string { return api.FormatOffset(time.Duration(i+4_000_000) * time.Second) },
		"unreadable":       func(int) string { return "later" },
	} {
		id++
		var entries []map[string]any
		var want []string
		for i := range 100 {
			want = append(want, fmt.Sprintf("%d %s", i, strings.Repeat("word ", 80)))
			entries = append(entries, map[string]any{"speaker": map[string]any{"display_name": "Ada"}, "text": want[i], "timestamp": at(i)})
		}
		raw, err := json.Marshal(map[string]any{"recording_id": id, "title": name, "transcript": entries})
		if err != nil {
			t.Fatal(err)
		}
		archivetest.Apply(t, s.Archive, time.Now(), raw)
		var got []string
		from, pieces := "", 0
		for ; pieces < 50; pieces++ {
			var piece transcriptAnswer
			if problem := call(t, c, "read_transcript", map[string]any{"recording_id": id, "from": from}, &piece); problem != "" {
				t.Fatalf("%s: %s", name, problem)
			}
			for _, e := range piece.Entries {
				got = append(got, e.Text)
			}
			if from = piece.NextFrom; from == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d entries in %d pieces, want %d once each", name, len(got), pieces+1, len(want))
		}
	}
}
