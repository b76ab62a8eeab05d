package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/export"
	"minutebook/archive/notes"
	"minutebook/internal/testrun"
)

// TestAPatternOfTheShellNamesRecordings names every file of a folder: recordings and metadata
// come with their transcripts, and those without one are refused in a line.
func TestAPatternOfTheShellNamesRecordings(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	noise := strings.Repeat("noise\n", 1000)
	writeFiles(t, dir, map[string]string{
		"talks/a.vtt": talkVTT, "talks/a.m4a": noise, "talks/a.toml": "title = \"Budget\"", "talks/lonely.mp4": noise, "talks/lonely.toml": "title = \"x\"",
		"folder/meeting.toml": "", "folder/talk.srt": "1\n00:00:01,000 --> 00:00:02,000\nHello.\n", "folder/film.mov": noise,
	})
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(paths) != 8 {
		t.Fatal(paths, err)
	}
	var all Result
	var refused []string
	for _, path := range paths {
		r, err := ReadPath(t.Context(), a, Options{}, path)
		all.Add(r)
		if wrong, ok := errors.AsType[Wrong](err); ok {
			refused = append(refused, filepath.Base(wrong.File))
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if all.New != 2 || all.Recordings != 2 || len(all.Wrong) != 0 || fmt.Sprint(refused) != "[lonely.mp4 lonely.toml]" {
		t.Errorf("%+v, refused %q", all, refused)
	}
}

// TestWrongLinesAreCounted imports files in which no line is a meeting, or a note.
func TestWrongLinesAreCounted(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	db, err := notes.Open(t.Context(), notes.Options{Archive: a})
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string]string{"x.ndjson": strings.Repeat("x\n", 1000), notes.FileName: strings.Repeat("x\n", 102)})
	r, err := ReadPath(t.Context(), a, Options{Notes: db}, dir)
	if err != nil || len(r.Wrong) != 200 || r.LeftOut() != 1102 {
		t.Fatalf("%d listed, %d left out, %v", len(r.Wrong), r.LeftOut(), err)
	}
	raw, err := json.Marshal(r)
	var back Result
	if err == nil {
		err = json.Unmarshal(raw, &back)
	}
	if err != nil || back.LeftOut() != 1102 || !strings.HasSuffix(back.Wrong[99].Error(), "; and 900 more lines after it") {
		t.Errorf("%+v, %v", back.Wrong[99], err)
	}
}

// TestNotesWithoutTheirMeetingAreCounted imports the notes of an export alone.
func TestNotesWithoutTheirMeetingAreCounted(t *testing.T) {
	a, out := archivetest.New(t), t.TempDir()
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "one", "a"))
	db, err := notes.Open(t.Context(), notes.Options{Archive: a})
	if err == nil {
		_, err = db.Add(t.Context(), notes.Note{RecordingID: 1, Text: "a remark"})
	}
	if err == nil {
		_, err = export.Run(t.Context(), a, export.Options{Dir: out, Format: export.NDJSON, Notes: db})
	}
	if err != nil {
		t.Fatal(err)
	}
	other := archivetest.New(t)
	if db, err = notes.Open(t.Context(), notes.Options{Archive: other}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path        string
		added, lost int
	}{{filepath.Join(out, notes.FileName), 0, 1}, {out, 1, 0}} {
		if r, err := ReadPath(t.Context(), other, Options{Notes: db}, c.path); err != nil || r.Notes != c.added || r.LostNotes != c.lost {
			t.Errorf("%s: %+v, %v", c.path, r, err)
		}
	}
}

// TestAnExportIntoTheWatchedFolderIsNamed exports into a folder that is watched.
func TestAnExportIntoTheWatchedFolderIsNamed(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT})
	w := NewWatcher(a, Options{}, dir)
	look(t, w)
	look(t, w)
	if _, err := export.Run(t.Context(), a, export.Options{Dir: dir, Format: export.Text}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Look(t.Context()); !errors.Is(err, errExport) {
			t.Errorf("%v", err)
		}
	}
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 1 || open[0].What != dir {
		t.Errorf("%+v, %v", open, err)
	}
	if err := os.Remove(filepath.Join(dir, exportLedger)); err != nil {
		t.Fatal(err)
	}
	look(t, w)
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 0 {
		t.Errorf("%+v, %v", open, err)
	}
}

// TestDatesInNames reads the date of a name, and the time after it where it is one.
func TestDatesInNames(t *testing.T) {
	for name, want := range map[string]string{
		"2026-03-01 10.00 Weekly.vtt":            "Weekly 2026-03-01 10:00:00",
		"GMT20260301-100059_Weekly.vtt":          "Weekly 2026-03-01 10:00:59",
		"20260301_1000.vtt":                      "Meeting 2026-03-01 10:00:00",
		"2026-03-01T10h30 Weekly.vtt":            "Weekly 2026-03-01 10:30:00",
		"2026-03-01 10-00-30.vtt":                "Meeting 2026-03-01 10:00:30",
		"2026-03-01 10.00-11.30 Weekly.vtt":      "11.30 Weekly 2026-03-01 10:00:00",
		"2026-03-01 4711 Offer.vtt":              "4711 Offer 2026-03-01 00:00:00",
		"2026-03-01 2500 widgets.vtt":            "2500 widgets 2026-03-01 00:00:00",
		"2026-03-01 100000000 widgets.vtt":       "100000000 widgets 2026-03-01 00:00:00",
		"2026-03-01 12345 Offer.vtt":             "12345 Offer 2026-03-01 00:00:00",
		"2026-03-01 10 years.vtt":                "10 years 2026-03-01 00:00:00",
		"2026-03-01_20260302_Days.vtt":           "20260302 Days 2026-03-01 00:00:00",
		"20260301123456 Weekly.transcript.vtt":   "123456 Weekly 2026-03-01 00:00:00",
		"2026-13-01 Weekly.vtt":                  "2026-13-01 Weekly 0001-01-01 00:00:00",
		"Case 2024-1542 2026-03-01 10.00.vtt":    "Case 2024-1542 2026-03-01 10:00:00",
		"2000-2026-03-01 Years.vtt":              "2000- Years 2026-03-01 00:00:00",
		"82019123145 GMT20260301-100000.vtt":     "82019123145 2026-03-01 10:00:00",
		"call 120190102.vtt":                     "call 120190102 0001-01-01 00:00:00",
		"2026-03-01 10.00 PM Weekly.vtt":         "Weekly 2026-03-01 22:00:00",
		"2026-03-01T10.30PM.vtt":                 "Meeting 2026-03-01 22:30:00",
		"2026-03-01_12.30am_Weekly.vtt":          "Weekly 2026-03-01 00:30:00",
		"Call 2026-03-01 at 3.45.12\u202fPM.vtt": "Call 2026-03-01 15:45:12",
		"Call 2026-03-01 at 12.05.09 PM.vtt":     "Call 2026-03-01 12:05:09",
		"Call 2026-03-01 at 15.45.12.vtt":        "Call 2026-03-01 15:45:12",
		"2026-03-01 at 13.45 PM.vtt":             "PM 2026-03-01 13:45:00",
		"2026-03-01 3.45 PMO.vtt":                "3.45 PMO 2026-03-01 00:00:00",
		"2026-03-01 5 am Tisch.vtt":              "5 am Tisch 2026-03-01 00:00:00",
		"2026-03-01 attic.vtt":                   "attic 2026-03-01 00:00:00",
	} {
		title, at := guessByName(name, time.UTC)
		if got := title + " " + at.Format(time.DateTime); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTimesOfUTCInNames reads names that say that their times are of UTC, and some that do not, in
// another zone.
func TestTimesOfUTCInNames(t *testing.T) {
	for name, want := range map[string]string{
		"GMT20260301-100059_Weekly.vtt":       "Weekly 2026-03-01 10:00:59",
		"2026-03-01T10-00-30Z_Weekly.vtt":     "Weekly 2026-03-01 10:00:30",
		"20260301T100030Z.vtt":                "Meeting 2026-03-01 10:00:30",
		"2026-03-01 10.00Z Weekly.vtt":        "Weekly 2026-03-01 10:00:00",
		"2026-03-01 10.00-11.30Z Weekly.vtt":  "11.30Z Weekly 2026-03-01 11:00:00",
		"2026-03-01 10.00Zoom.vtt":            "Zoom 2026-03-01 11:00:00",
		"2026-03-01 10.00.30 Z for Zebra.vtt": "Z for Zebra 2026-03-01 11:00:30",
	} {
		title, at := guessByName(name, time.FixedZone("", -3600))
		if got := title + " " + at.UTC().Format(time.DateTime); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestTheBeginningOfAStream has an empty line before a document, lines of which the first is
// cut, and texts with a byte order mark.
func TestTheBeginningOfAStream(t *testing.T) {
	testrun.SkipUnderRace(t)
	const two, pretty = `{"recording_id": 2}` + "\n", "{\n \"recording_id\": 2\n}\n"
	for name, c := range map[string]struct {
		text  string
		new   int
		wrong string
	}{
		"an empty line":             {"\n \n" + pretty + pretty, 1, "[]"},
		"and a fault":               {"\n\n" + pretty + "{\n 5\n}", 1, "[7]"},
		"cut in a text":             {`{"recording_id": 1, "ti` + "\n" + two, 1, "[1]"},
		"cut before a name":         {`{"recording_id": 1,` + "\n\n" + two, 1, "[1]"},
		"cut in an array":           {`[{"recording_id": 1}, {"rec` + "\n" + two, 1, "[1]"},
		"cut, and a long line":      {`{"recording_id": 1, "ti` + "\n" + `{"recording_id": 2, "title": "` + strings.Repeat("x", 2<<20) + `"}`, 1, "[1]"},
		"an array of lines":         {"[\n" + two + ",\n" + `{"recording_id": 3}` + "\n]", 2, "[]"},
		"an object and its numbers": {"{\"recording_id\":\n2\n}\n", 1, "[]"},
		"UTF-16":                    {string(utf16Bytes("\n" + pretty)), 1, "[]"},
		"UTF-8 with a mark":         {"\ufeff\n" + pretty, 1, "[]"},
	} {
		a := archivetest.New(t)
		r, err := Read(t.Context(), a, Options{}, strings.NewReader(c.text))
		lines := []int{}
		for _, w := range r.Wrong {
			lines = append(lines, w.Line)
		}
		if err != nil || r.New != c.new || fmt.Sprint(lines) != c.wrong {
			t.Errorf("%s: %+v, wrong lines %v, %v", name, r, lines, err)
		}
		if _, err := a.Row(t.Context(), 2); err != nil && !errors.Is(err, archive.ErrNotFound) {
			t.Error(err)
		}
	}
}

// utf16Bytes returns a text as UTF-16 with its mark, high bytes first.
func utf16Bytes(text string) []byte {
	b := []byte{0xfe, 0xff}
	for _, r := range text {
		b = append(b, byte(r>>8), byte(r))
	}
	return b
}
