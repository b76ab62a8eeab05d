package importer

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"minutebook/archive"
	"minutebook/archive/export"
	"minutebook/archive/notes"
)

// TestAForgottenMeetingDoesNotComeByAnotherIDOfAnExport forgets a talk that grew, and imports the
// meeting as another machine has it, which took the whole file at once. The other machine has
// forgotten it then, and is given the meeting of the first words.
func TestAForgottenMeetingDoesNotComeByAnotherIDOfAnExport(t *testing.T) {
	a, b, whole := ticking(t), ticking(t), t.TempDir()
	watchGrowing(t, a, t.TempDir())
	writeFiles(t, whole, map[string]string{"a.vtt": grownVTT})
	importPath(t, b, whole)
	grown, taken := exportLine(t, a), exportLine(t, b)
	for to, line := range map[*archive.Archive][]byte{a: taken, b: grown} {
		if r, err := Read(t.Context(), to, Options{}, bytes.NewReader(line)); err != nil || r.New != 0 || len(allRows(t, to)) != 1 {
			t.Errorf("the same meeting: %+v, %v", r, err)
		}
		row := allRows(t, to)[0]
		if raw, err := to.MeetingJSON(t.Context(), row.RecordingID); err != nil || bytes.Contains(raw, []byte(archive.ImportedAsKey)) {
			t.Errorf("%s, %v", raw, err)
		}
		if _, err := to.Forget(t.Context(), row.RecordingID, "asked for"); err != nil {
			t.Fatal(err)
		}
		if r, err := Read(t.Context(), to, Options{}, bytes.NewReader(line)); err != nil || r.New != 0 || r.Forgotten != 1 {
			t.Errorf("forgotten: %+v, %v", r, err)
		}
	}
}

// TestAnExportKeepsWhichMeetingAFileIs moves an archive with a talk that grew, and was given a key,
// by an export in each format, and that archive once more. The same files are known there, and
// another key makes another meeting.
func TestAnExportKeepsWhichMeetingAFileIs(t *testing.T) {
	for _, format := range []export.Format{export.JSON, export.NDJSON} {
		a, dir, other := ticking(t), t.TempDir(), t.TempDir()
		w := watchGrowing(t, a, dir)
		afterwards["given a key"](t, a, w)
		look(t, w)
		look(t, w)
		writeFiles(t, other, map[string]string{"a.vtt": grownVTT, "a.toml": `key = "l"`})
		for range 2 {
			to, b := t.TempDir(), ticking(t)
			if _, err := export.Run(t.Context(), a, export.Options{Dir: to, Format: format}); err != nil {
				t.Fatal(err)
			}
			for i, want := range []int{1, 0} {
				if r := importPath(t, b, to); r.New != want || r.Changed != want {
					t.Errorf("%s, import %d of the export: %+v", format, i+1, r)
				}
			}
			if r := importPath(t, b, dir); r.New != 0 {
				t.Errorf("%s, the same files: %+v", format, r)
			}
			a = b
		}
		if r := importPath(t, a, other); r.New != 1 {
			t.Errorf("%s, with another key: %+v", format, r)
		}
	}
}

// TestNotesFollowAMeetingThatIsKnownByAnotherID imports the export of a talk that grew, with a note
// and a tick, where the whole file was taken at once.
func TestNotesFollowAMeetingThatIsKnownByAnotherID(t *testing.T) {
	a, b, whole, to := ticking(t), ticking(t), t.TempDir(), t.TempDir()
	watchGrowing(t, a, t.TempDir())
	writeFiles(t, whole, map[string]string{"a.vtt": grownVTT})
	importPath(t, b, whole)
	before, after := openNotes(t, a), openNotes(t, b)
	id := allRows(t, a)[0].RecordingID
	if _, err := before.Add(t.Context(), notes.Note{RecordingID: id, At: -1, Text: "Remember"}); err != nil {
		t.Fatal(err)
	}
	if err := before.Tick(t.Context(), notes.Owner, notes.Item{RecordingID: id, At: -1, Text: "Call"}); err != nil {
		t.Fatal(err)
	}
	if _, err := export.Run(t.Context(), a, export.Options{Dir: to, Format: export.NDJSON, Notes: before}); err != nil {
		t.Fatal(err)
	}
	if r, err := ReadPath(t.Context(), b, Options{Notes: after}, to); err != nil || r.LostNotes != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	id = allRows(t, b)[0].RecordingID
	list, err := after.ForMeeting(t.Context(), notes.Owner, id)
	if err != nil || len(list) != 1 {
		t.Errorf("notes: %v, %v", list, err)
	}
	ticks, err := after.Ticks(t.Context(), []int64{id})
	if err != nil || len(ticks) != 1 {
		t.Errorf("ticks: %v, %v", ticks, err)
	}
}

// TestTwoIDsOfATalkInAnImportAreOneMeeting imports the exports of two machines at once, of which
// one took a talk while it grew, and the other took the whole file.
func TestTwoIDsOfATalkInAnImportAreOneMeeting(t *testing.T) {
	a, b, whole := ticking(t), ticking(t), t.TempDir()
	watchGrowing(t, a, t.TempDir())
	writeFiles(t, whole, map[string]string{"a.vtt": grownVTT})
	importPath(t, b, whole)
	grown, taken := exportLine(t, a), exportLine(t, b)
	for _, lines := range [][]byte{slices.Concat(grown, taken), slices.Concat(taken, grown)} {
		to := ticking(t)
		if r, err := Read(t.Context(), to, Options{}, bytes.NewReader(lines)); err != nil || r.New != 1 || len(allRows(t, to)) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestAForgottenIDLeadsToNoOtherMeeting forgets a meeting whose id an earlier version made name
// another one too, which is there.
func TestAForgottenIDLeadsToNoOtherMeeting(t *testing.T) {
	a, other := ticking(t), t.TempDir()
	watchGrowing(t, a, t.TempDir())
	line, id := exportLine(t, a), allRows(t, a)[0].RecordingID
	if _, err := a.Forget(t.Context(), id, "asked for"); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, other, map[string]string{"b.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>Something else.\n"})
	importPath(t, a, other)
	if _, err := a.Apply(t.Context(), nil, sameMark(id, allRows(t, a)[0].RecordingID)); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(t.Context(), a, Options{}, bytes.NewReader(line)); err != nil || r.Changed != 0 || r.Forgotten != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func openNotes(t *testing.T, a *archive.Archive) *notes.DB {
	t.Helper()
	d, err := notes.Open(t.Context(), notes.Options{Archive: a})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// exportLine returns the only meeting of an archive, as an export has it.
func exportLine(t *testing.T, a *archive.Archive) []byte {
	t.Helper()
	to := t.TempDir()
	if _, err := export.Run(t.Context(), a, export.Options{Dir: to, Format: export.NDJSON}); err != nil {
		t.Fatal(err)
	}
	raw, err := readWhole(filepath.Join(to, "meetings.ndjson"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
