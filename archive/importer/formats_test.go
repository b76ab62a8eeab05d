package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// The same talk as two programs heard it: no word is the same.
const (
	heardVTT  = "WEBVTT\n\n00:01.000 --> 00:03.000\nGood morning, the pelican budget.\n"
	heardJSON = `{"segments": [{"start": 1, "end": 3, "text": "Could mourning depend."}], "language": "en"}`
)

// TestATranscriptInAnotherFormatIsTheSameMeeting has a talk in two formats in a watched folder,
// of which one comes later, or goes. Where the meeting was forgotten it does not come back.
func TestATranscriptInAnotherFormatIsTheSameMeeting(t *testing.T) {
	const vtt, json = "talk.vtt", "talk.json"
	content := map[string]string{vtt: heardVTT, json: heardJSON}
	for name, c := range map[string]struct{ first, added, gone []string }{
		"a better one comes":            {first: []string{vtt}, added: []string{json}},
		"a worse one comes":             {first: []string{json}, added: []string{vtt}},
		"the better one goes":           {first: []string{vtt, json}, gone: []string{json}},
		"one comes, and the first goes": {first: []string{vtt}, added: []string{json}, gone: []string{vtt}},
	} {
		for _, forgotten := range []bool{false, true} {
			t.Run(fmt.Sprint(name, forgotten), func(t *testing.T) {
				a, dir := ticking(t), t.TempDir()
				w := NewWatcher(a, Options{}, dir)
				put := func(names []string) {
					for _, name := range names {
						writeFiles(t, dir, map[string]string{name: content[name]})
					}
				}
				looks := func(when string, want int) {
					t.Helper()
					look(t, w)
					look(t, w)
					if rows := allRows(t, a); len(rows) != want {
						t.Errorf("%s: %d meetings, want %d", when, len(rows), want)
					}
				}
				put(c.first)
				looks("first", 1)
				want := 1
				if forgotten {
					forgetAll(t, a)
					want = 0
				}
				put(c.added)
				looks("added", want)
				for _, name := range c.gone {
					if err := os.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
				looks("gone", want)
				writeFiles(t, dir, map[string]string{"copy.vtt": content[vtt]})
				if c.added != nil || c.gone != nil {
					looks("a copy", want)
				}
			})
		}
	}
}

// TestATextForAllTalksNamesNoMeeting has talks beside which a recorder leaves a text that is
// the same for all: each is a meeting of its own, also where another one was forgotten.
func TestATextForAllTalksNamesNoMeeting(t *testing.T) {
	notices := map[string]string{".vtt": "WEBVTT\n\n00:00.000 --> 00:01.000\nTranscription started\n", ".srt": "1\n00:00:00,000 --> 00:00:01,000\nTranscription started\n"}
	for ext, text := range notices {
		for _, watched := range []bool{false, true} {
			t.Run(fmt.Sprint(ext, watched), func(t *testing.T) {
				a, dir := ticking(t), t.TempDir()
				w := NewWatcher(a, Options{}, dir)
				imports := func(when string, want int, talks ...string) {
					t.Helper()
					for _, talk := range talks {
						said := strings.Repeat(talk+" is on the agenda today. ", 20)
						writeFiles(t, dir, map[string]string{talk + ext: text, talk + ".json": fmt.Sprintf(`{"segments": [{"start": 1, "end": 99, "text": %q}]}`, said)})
					}
					if watched {
						look(t, w)
						look(t, w)
					} else {
						importPath(t, a, dir)
					}
					if rows := allRows(t, a); len(rows) != want {
						t.Errorf("%s: %d meetings, want %d", when, len(rows), want)
					}
				}
				imports("the first", 1, "budget")
				imports("another one", 2, "hiring")
				forgetAll(t, a)
				imports("after these were forgotten", 1, "moving")
			})
		}
	}
}

func forgetAll(t *testing.T, a *archive.Archive) {
	t.Helper()
	for _, row := range allRows(t, a) {
		if _, err := a.Forget(t.Context(), row.RecordingID, "test"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFormatThatReplacesAForgottenOneBringsNothingBack has one format at a time. Where the
// meeting is there, its words say whether it is the same talk.
func TestAFormatThatReplacesAForgottenOneBringsNothingBack(t *testing.T) {
	for name, c := range map[string]struct {
		json      string
		forgotten bool
		want      int
	}{
		"forgotten":    {heardJSON, true, 0},
		"the same":     {`{"segments": [{"start": 1, "end": 3, "text": "Good morning, the pelican budget."}]}`, false, 1},
		"another talk": {heardJSON, false, 2},
	} {
		a, dir := ticking(t), t.TempDir()
		w := NewWatcher(a, Options{}, dir)
		writeFiles(t, dir, map[string]string{"talk.vtt": heardVTT})
		look(t, w)
		look(t, w)
		if c.forgotten {
			forgetAll(t, a)
		}
		if err := os.Remove(filepath.Join(dir, "talk.vtt")); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, dir, map[string]string{"talk.json": c.json})
		look(t, w)
		look(t, w)
		if rows := allRows(t, a); len(rows) != c.want {
			t.Errorf("%s: %d meetings, want %d", name, len(rows), c.want)
		}
	}
}

// TestAPatternOfTheShellNamesFormats names all files that Whisper writes of a talk.
func TestAPatternOfTheShellNamesFormats(t *testing.T) {
	for name, toml := range map[string]string{"of one name": "talk.toml", "of a folder": folderMetadata} {
		a, dir := archivetest.New(t), t.TempDir()
		writeFiles(t, dir, map[string]string{"talk.vtt": heardVTT, "talk.json": heardJSON, "talk.srt": "1\n00:00:01,000 --> 00:00:03,000\nBudget.\n",
			"talk.txt": "Good morning,\nthe pelican budget.\n", "talk.tsv": "start\tend\ttext\n1000\t3000\tGood morning.\n", toml: "title = \"Budget\""})
		paths, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(paths) != 6 {
			t.Fatal(paths, err)
		}
		var all Result
		o := Options{Taken: map[string]bool{}}
		for _, path := range paths {
			r, err := ReadPath(t.Context(), a, o, path)
			if err != nil {
				t.Error(err)
			}
			all.Add(r)
		}
		rows := allRows(t, a)
		if all.Read != 1 || len(all.Wrong) != 0 || len(rows) != 1 || rows[0].Title != "Budget" || rows[0].Language != "en" {
			t.Errorf("%s: %+v, %d meetings", name, all, len(rows))
		}
		for _, lonely := range []string{"notes.txt", "table.tsv"} {
			other := t.TempDir()
			writeFiles(t, other, map[string]string{lonely: "some\nlines\n"})
			if r, err := ReadPath(t.Context(), a, Options{}, filepath.Join(other, lonely)); err == nil || !strings.Contains(err.Error(), "it is no transcript") || len(r.Wrong) != 0 {
				t.Errorf("%s: %+v, %v", lonely, r, err)
			}
		}
	}
}

// TestAFilmIsTakenBeforeItsSound has both beside a transcript, and in a folder.
func TestAFilmIsTakenBeforeItsSound(t *testing.T) {
	for _, toml := range []string{"talk.toml", folderMetadata} {
		a, dir := archivetest.New(t), t.TempDir()
		film := "\x00\x00\x00\x18ftypmp42 film"
		writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT, "talk.m4a": "\x00\x00\x00\x18ftypM4A sound", "talk.mp4": film, toml: ""})
		if r := importPath(t, a, dir); len(r.Unused) != 1 || filepath.Base(r.Unused[0]) != "talk.m4a" {
			t.Errorf("left out: %q", r.Unused)
		}
		media, err := a.MediaOf(t.Context(), allRows(t, a)[0].RecordingID)
		if err != nil || len(media) != 1 || media[0].Kind != archive.MediaVideo || media[0].Size != int64(len(film)) {
			t.Errorf("%+v, %v", media, err)
		}
	}
}

// TestAWatchedFolderNamesOnceWhatItLeavesOut has sound beside a film that waits for room.
func TestAWatchedFolderNamesOnceWhatItLeavesOut(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT, "talk.m4a": "\x00\x00\x00\x18ftypM4A sound", "talk.mp4": "\x00\x00\x00\x18ftypmp42 film"})
	w := NewWatcher(a, Options{MinFree: 1 << 60}, dir)
	for i, free := range []int64{1 << 60, 1 << 60, 1 << 60, 0, 0} {
		w.options.MinFree = free
		if r := look(t, w); len(r.Unused) > 0 != (i == 3) {
			t.Errorf("look %d: %+v", i, r)
		}
	}
}

// TestMetadataNamesTheSound chooses the recording that would be left out.
func TestMetadataNamesTheSound(t *testing.T) {
	for _, toml := range []string{"talk.toml", folderMetadata} {
		a, dir := archivetest.New(t), t.TempDir()
		writeFiles(t, dir, map[string]string{"talk.vtt": talkVTT, "talk.m4a": "\x00\x00\x00\x18ftypM4A sound", "talk.mp4": "\x00\x00\x00\x18ftypmp42 film", toml: "recording = \"talk.m4a\""})
		r := importPath(t, a, dir)
		media, err := a.MediaOf(t.Context(), allRows(t, a)[0].RecordingID)
		if err != nil || len(media) != 1 || media[0].Kind != archive.MediaAudio || len(r.Unused) != 0 {
			t.Errorf("%s: %+v, %v", toml, media, err)
		}
	}
}

// TestMetadataAsOtherProgramsSaveIt has byte order marks, UTF-16, and a byte that is no text.
func TestMetadataAsOtherProgramsSaveIt(t *testing.T) {
	for name, text := range map[string]string{"UTF-8": "\ufefftitle = \"Größe\"\r\n", "UTF-16": string(utf16Bytes("title = \"Größe\"\r\n"))} {
		a, dir := archivetest.New(t), t.TempDir()
		writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": text})
		importPath(t, a, dir)
		if rows := allRows(t, a); rows[0].Title != "Größe" {
			t.Errorf("%s: %q", name, rows[0].Title)
		}
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "a.toml": "key = \"a\"\ntitle = \"Gr\xf6\xdfe\"\n"})
	if r, err := ReadPath(t.Context(), archivetest.New(t), Options{}, dir); err != nil || len(r.Wrong) != 1 || r.Wrong[0].Line != 2 || !strings.Contains(r.Wrong[0].Error(), "it is not UTF-8") {
		t.Errorf("%+v, %v", r.Wrong, err)
	}
}

// TestNamesOfAMacAreFound has names that a Mac wrote, and metadata that a person did.
func TestNamesOfAMacAreFound(t *testing.T) {
	decomposed := norm.NFD.String("Größe")
	for name, files := range map[string]map[string]string{
		"a folder":      {folderMetadata: "transcript = \"Größe.vtt\"\nrecording = \"Größe.mp3\"", decomposed + ".vtt": talkVTT, "b.vtt": heardVTT, decomposed + ".mp3": "ID3 sound", "b.mp3": "ID3 other"},
		"of one name":   {"Größe.toml": "title = \"x\"\nrecording = \"Größe.mp3\"", decomposed + ".vtt": talkVTT, decomposed + ".mp3": "ID3 sound"},
		"the recording": {"Größe.mp3": "ID3 sound", decomposed + ".vtt": talkVTT},
	} {
		a, dir := archivetest.New(t), t.TempDir()
		writeFiles(t, dir, files)
		if r := importPath(t, a, dir); r.New != 1 || r.Recordings != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
