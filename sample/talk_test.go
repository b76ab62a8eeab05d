package sample

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"minutebook/api"
	"minutebook/internal/testrun"
)

func TestTranscriptsAreWhole(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, m := range decoded(t, Base()) {
		transcript, _ := m.Transcript.Get()
		if len(transcript) < 60 {
			t.Errorf("%s: %d entries, want 60 or more", m.Title, len(transcript))
		}
		length, at := m.RecordingEndTime.Sub(m.RecordingStartTime.Time), time.Duration(-1)
		invited := map[string]bool{}
		for _, in := range m.CalendarInvitees {
			invited[in.Email.Or("")] = true
		}
		for i, e := range transcript {
			next, err := api.ParseOffset(e.Timestamp)
			if err != nil || next <= at || next >= length {
				t.Errorf("%s: entry %d is at %s (%v)", m.Title, i, e.Timestamp, err)
			}
			at = next
			if email, ok := e.Speaker.MatchedCalendarInviteeEmail.Get(); ok && !invited[email] {
				t.Errorf("%s: %s speaks and was not invited", m.Title, email)
			}
		}
		if length-at > 2*time.Minute {
			t.Errorf("%s: silent from %s to %s", m.Title, at, length)
		}
		s, _ := m.DefaultSummary.Get()
		actions, _ := m.ActionItems.Get()
		marks, _ := m.Highlights.Get()
		if len(s.MarkdownFormatted.Or("")) < 200 || len(actions) < 2 || len(marks) < 1 {
			t.Errorf("%s: summary of %d bytes, %d action items, %d highlights", m.Title, len(s.MarkdownFormatted.Or("")), len(actions), len(marks))
		}
		for _, h := range marks {
			if h.StartTime >= h.EndTime || h.EndTime > length.Seconds() {
				t.Errorf("%s: highlight from %f to %f", m.Title, h.StartTime, h.EndTime)
			}
		}
	}
}

// No sentence of any length is said twice: neither in two meetings nor in one.
func TestNoTwoMeetingsShareALongSentence(t *testing.T) {
	testrun.SkipUnderRace(t)
	speakerOf := map[string]string{}
	for _, m := range decoded(t, Base()) {
		transcript, _ := m.Transcript.Get()
		for _, e := range transcript {
			for _, s := range strings.FieldsFunc(e.Text, func(r rune) bool { return strings.ContainsRune(".?!。？", r) }) {
				s = strings.ToLower(strings.TrimSpace(s))
				if len(strings.Fields(s)) < 6 && len(s) < 45 {
					continue
				}
				if other := speakerOf[s]; other != "" {
					t.Errorf("%q is said in %s and in %s", s, other, m.Title)
				}
				speakerOf[s] = m.Title
			}
		}
	}
}

func TestRecordings(t *testing.T) {
	testrun.SkipUnderRace(t)
	for name, open := range map[string]func() (io.ReadSeeker, string){"video/mp4": Video, "audio/mp4": Audio} {
		r, contentType := open()
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if contentType != name || len(b) > 1<<20 || string(b[4:8]) != "ftyp" {
			t.Errorf("%s: %s of %d bytes", name, contentType, len(b))
		}
		if moov, mdat := strings.Index(string(b), "moov"), strings.Index(string(b), "mdat"); moov < 0 || moov > mdat {
			t.Errorf("%s: its index is not in front", name)
		}
		if again, _ := open(); again == r {
			t.Errorf("%s: two callers share a reader", name)
		}
	}
}

func TestWrongScriptsAreNamed(t *testing.T) {
	testrun.SkipUnderRace(t)
	for script, want := range map[string]string{
		"title: A":                        "no line with ---",
		"title: A\n---\nHS: a":            "no line with ===",
		"title\n---\nHS: a\n=== S\n":      "line 1",
		"title: A\n---\n* X | y\n=== S\n": "line 3",
		"title: A\nwho: HS\nwhen: -1 09:00\nminutes: 12\n---\nQQ: a\n=== S\n":         "let QQ speak",
		"title: A\nwho: QQ\nwhen: -1 09:00\nminutes: 12\n---\nHS: a\n=== S\n":         "invite QQ",
		"title: A\nwho: HS\nwhen: soon\nminutes: 12\n---\nHS: a\n=== S\n":             "read its day",
		"title: A\nwho: HS\nwhen: -1 09:00\nminutes: 0\n---\nHS: a\n=== S\n":          "spread 1 entries",
		"title: A\nwho: HS\nwhen: -1 09:00\nminutes: 2\n---\nHS: a\n* N | b\n=== S\n": "nobody is called N",
	} {
		_, err := build(fstest.MapFS{"meetings/a.txt": {Data: []byte(script)}}, Base())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", script, err, want)
		}
	}
	ok := "title: A\nwho: HS\nwhen: -1 09:00\nminutes: 2\n---\nHS: a\n=== S\n"
	got, err := build(fstest.MapFS{"meetings/a.txt": {Data: []byte(ok)}}, Base())
	if err != nil || len(got) != 1 || !json.Valid(got[0]) {
		t.Errorf("a right script gives %s, %v", got, err)
	}
}
