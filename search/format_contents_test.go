package search

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"minutebook/internal/testrun"
	"minutebook/search/segment"
)

// TestContentsAreOfTheFormat compares the terms of an index with those that the format had
// when it began. Where they differ, indexes of former versions answer otherwise than new
// ones: raise format, so that they are built anew, and write the new sum here.
func TestContentsAreOfTheFormat(t *testing.T) {
	testrun.SkipUnderRace(t)
	const formatOfSum, sum = 6, "72147c95076add6f746807e56e05e8d0bc7e11ffef7c1cf307f6cd0dc589809b"
	h := newFixture(t)
	odd := "Zoë\r\n \"Bo\" O’Neil\tÄß\x01Li\u00a0X"
	h.add(append(threeMeetings(), meeting(4, odd+" \x01 naïve e-mail ABC-123", "de", day(4),
		[]utterance{{1, "Anna Lee", "Größe, Straße und 1.000,50 €: don't re-sign v2.0 日本語 שלום"}, {9, odd, "Ends\u2028of\x00lines"}},
		map[string]any{
			"meeting_type": odd, "default_summary": map[string]any{"markdown_formatted": "# " + odd + "\n\n* [a](https://b.example)"},
			"highlights":        []any{map[string]any{"type": odd, "summary": odd, "start_time": 0.5, "end_time": 9.0}},
			"action_items":      []any{map[string]any{"description": odd, "user_generated": true, "completed": true, "recording_timestamp": "00:00:09", "recording_playback_url": "https://b.example", "assignee": map[string]any{"name": odd, "email": "Zoe@Own.Example", "team": odd}}},
			"calendar_invitees": []any{map[string]any{"name": odd, "matched_speaker_display_name": odd, "email": "Zoe@Own.Example", "email_domain": "Own.Example", "is_external": false}},
		}))...)
	h.catchUp()
	hash := sha256.New()
	for _, s := range []*store{h.index.serving.meetings, h.index.serving.moments} {
		snap, err := s.snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		for _, field := range []string{segment.FieldText, segment.FieldTitle, segment.FieldSummary, segment.FieldHighlights, segment.FieldActions,
			segment.FieldCRM, segment.FieldPeople, segment.FieldKeys, segment.FieldPairs} {
			dict, err := snap.FieldDict(field)
			if err != nil {
				t.Fatal(err)
			}
			for {
				entry, err := dict.Next()
				if err != nil {
					t.Fatal(err)
				}
				if entry == nil {
					break
				}
				io.WriteString(hash, field+" "+entry.Term+"\n")
			}
			if err := dict.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); format != formatOfSum || got != sum {
		t.Errorf("format %d has the terms %s, and format %d had %s", format, got, formatOfSum, sum)
	}
}
