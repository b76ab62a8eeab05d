package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/archivetest"
)

func look(t *testing.T, w *Watcher) Result {
	t.Helper()
	r, err := w.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAWatchedFolderTakesWhatIsWhole(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	w := NewWatcher(a, Options{}, dir)
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT[:70]})
	if r := look(t, w); r.Read != 0 {
		t.Errorf("took a file at the first look: %+v", r)
	}
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT})
	if r := look(t, w); r.Read != 0 {
		t.Errorf("took a file that was growing: %+v", r)
	}
	if r := look(t, w); r.New != 1 {
		t.Errorf("did not take a whole file: %+v", r)
	}
	head, _ := a.Head(t.Context())
	restarted := NewWatcher(a, Options{}, dir)
	for range 3 {
		if r := look(t, restarted); r.Read != 0 {
			t.Errorf("took it twice: %+v", r)
		}
	}
	if now, err := a.Head(t.Context()); now != head || err != nil {
		t.Errorf("%v → %v, %v", head, now, err)
	}
	// Killed after the meeting was applied and before that was remembered:
	for key := range marksOf(t, a) {
		if err := a.SetMarks(t.Context(), archive.Mark{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	restarted = NewWatcher(a, Options{}, dir)
	look(t, restarted)
	if r := look(t, restarted); r.Read != 1 || r.New != 0 || r.Changed != 0 {
		t.Errorf("took it twice: %+v", r)
	}
	// A longer text of the same talk is the same meeting; another talk is another one.
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT + "\n00:10.000 --> 00:11.000\nSPEAKER_00: Right.\n"})
	look(t, restarted)
	if r := look(t, restarted); r.Changed != 1 || len(allRows(t, a)) != 1 {
		t.Errorf("%+v, %d meetings", r, len(allRows(t, a)))
	}
	writeFiles(t, dir, map[string]string{"a.vtt": "WEBVTT\n\n00:01.000 --> 00:03.000\nNext week.\n", "a.mp3": "ID3 recording"})
	look(t, restarted)
	if r := look(t, restarted); r.New != 1 || r.Recordings != 1 || len(allRows(t, a)) != 2 {
		t.Errorf("%+v, %d meetings", r, len(allRows(t, a)))
	}
}

func TestAWatchedFolderNamesWhatItRefuses(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	w := NewWatcher(a, Options{Account: "files"}, dir)
	writeFiles(t, dir, map[string]string{"Secret merger.vtt": "WEBVTT\n\nx\ny\n", "b.vtt": grownVTT, "b.toml": "titel = \"x\"", "c/meeting.toml": ""})
	var named []string
	for range 3 {
		for _, wrong := range look(t, w).Wrong {
			named = append(named, strings.TrimPrefix(wrong.File, dir))
		}
	}
	if len(named) != 3 {
		t.Errorf("named %q", named)
	}
	open, err := a.Failures(t.Context(), true)
	if err != nil || len(open) != 3 || open[0].Account != "files" {
		t.Fatalf("%+v, %v", open, err)
	}
	writeFiles(t, dir, map[string]string{"Secret merger.vtt": talkVTT, "b.toml": "key = \"b\"", "c/c.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nc\n"})
	look(t, w)
	if r := look(t, w); r.New != 3 {
		t.Errorf("%+v", r)
	}
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 0 {
		t.Errorf("still fail: %+v, %v", open, err)
	}
	for _, row := range allRows(t, a) {
		if _, err := a.Forget(t.Context(), row.RecordingID, "test"); err != nil {
			t.Fatal(err)
		}
	}
	all, err := a.Failures(t.Context(), false)
	if err != nil || len(all) != 0 {
		t.Errorf("the names of forgotten meetings' files are kept: %+v, %v", all, err)
	}
	for _, change := range []func() error{func() error { return os.Chtimes(filepath.Join(dir, "b.vtt"), time.Time{}, time.Unix(5, 0)) }, func() error { return os.RemoveAll(dir) }} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		w.Look(t.Context())
		w.Look(t.Context())
	}
	if _, err := w.Look(t.Context()); err == nil || len(allRows(t, a)) != 0 {
		t.Errorf("a folder that is gone: %v; %d meetings", err, len(allRows(t, a)))
	}
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 1 || open[0].What != dir || open[0].Tries != 1 || open[0].Reason != "it is not there" {
		t.Errorf("of a folder that is gone the ledger has %+v, %v", open, err)
	}
	writeFiles(t, dir, map[string]string{"e.txt": ""})
	look(t, w)
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 0 {
		t.Errorf("of a folder that is back the ledger has %+v, %v", open, err)
	}
	if text := markText(marksOf(t, a)); strings.Contains(text, "merger") {
		t.Error(text)
	}
}

func marksOf(t *testing.T, a *archive.Archive) map[string][]byte {
	t.Helper()
	marks, err := a.Marks(t.Context(), "watched/")
	if err != nil || len(marks) == 0 {
		t.Fatal(marks, err)
	}
	return marks
}

func markText(marks map[string][]byte) (text string) {
	for key, value := range marks {
		text += key + "=" + string(value) + "\n"
	}
	return text
}

// TestARecordingThatWaitsDelaysNoOther has an empty recording, and one for which the disk
// has no room: the talks are taken, those of later names too, and each file is named once.
// The recording is taken when there is room.
func TestARecordingThatWaitsDelaysNoOther(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	for i, name := range []string{"a.vtt", "b.vtt", "c.vtt"} {
		writeFiles(t, dir, map[string]string{name: "WEBVTT\n\n00:01.000 --> 00:02.000\n" + strings.Repeat("word ", i+1) + "\n"})
	}
	writeFiles(t, dir, map[string]string{"a.mp3": "", "b.mp3": "ID3 recording"})
	if r, err := ReadPath(t.Context(), a, Options{}, dir); err != nil || len(r.Wrong) != 1 || r.New != 3 || r.Recordings != 1 {
		t.Errorf("imported at once: %+v, %v", r, err)
	}
	a = archivetest.New(t)
	w := NewWatcher(a, Options{MinFree: 1 << 60}, dir)
	var named []string
	for range 3 {
		for _, wrong := range look(t, w).Wrong {
			named = append(named, strings.TrimPrefix(wrong.Error(), dir))
		}
	}
	if len(named) != 2 || !strings.Contains(named[0], "a.mp3: the recording is empty") || !strings.Contains(named[1], "b.mp3: it waits for room") {
		t.Errorf("named %q", named)
	}
	if rows := allRows(t, a); len(rows) != 3 {
		t.Errorf("%d meetings", len(rows))
	}
	if r := look(t, w); r.Read != 0 {
		t.Errorf("a recording that waits is an import: %+v", r)
	}
	w.options.MinFree = 0
	writeFiles(t, dir, map[string]string{"a.mp3": "ID3 recording"})
	r := look(t, w)
	if then := look(t, w); r.Recordings+then.Recordings != 2 {
		t.Errorf("%+v, %+v", r, then)
	}
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 0 {
		t.Errorf("still fail: %+v, %v", open, err)
	}
}

// TestAFileThatGrowsWhileItIsReadIsTakenOnce has a file that was the same at two looks and
// goes on being written when it is read.
func TestAFileThatGrowsWhileItIsReadIsTakenOnce(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	w := NewWatcher(a, Options{}, dir)
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT[:70], "b.vtt": talkVTT})
	others, _, err := w.lister.list(dir)
	if err != nil || len(others) != 2 {
		t.Fatal(others, err)
	}
	was := sighting{state: w.lister.stateOf(others[0].files())}
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT + "\n00:10.000 --> 00:11.000\nSPEAKER_00: Right.\n"})
	if err := os.Remove(filepath.Join(dir, "b.vtt")); err != nil {
		t.Fatal(err)
	}
	var all Result
	for _, f := range others {
		if done, err := w.take(t.Context(), f, was, &all); done || err != nil || all.Read != 0 || len(all.Wrong) != 0 {
			t.Errorf("%+v, %t, %v", all, done, err)
		}
	}
	look(t, w)
	if r := look(t, w); r.New != 1 || len(allRows(t, a)) != 1 {
		t.Errorf("%+v, %d meetings", r, len(allRows(t, a)))
	}
}

// TestAFailureIsOfTheMeetingThatWasTaken refuses files of a meeting that was taken before, each after a
// restart, and one that is no meeting yet.
func TestAFailureIsOfTheMeetingThatWasTaken(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": talkVTT, "other.vtt": "WEBVTT\n\nx\ny\n"})
	restart := func() {
		w := NewWatcher(a, Options{}, dir)
		look(t, w)
		look(t, w)
	}
	restart()
	taken := allRows(t, a)[0].RecordingID
	for name, change := range map[string]func() error{
		"a.toml": func() error { return os.WriteFile(filepath.Join(dir, "a.toml"), []byte("titel = 1"), 0o600) },
		"a.vtt":  func() error { return os.WriteFile(filepath.Join(dir, "a.vtt"), []byte("WEBVTT\n\nx\ny\n"), 0o600) },
		"a.srt":  func() error { return os.Symlink("a.vtt", filepath.Join(dir, "a.srt")) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		restart()
		of := map[string]int64{}
		open, err := a.Failures(t.Context(), true)
		for _, f := range open {
			of[f.What] = f.RecordingID
		}
		if _, fails := of[name]; err != nil || !fails || of[name] != taken || of["other.vtt"] != 0 {
			t.Errorf("after %s the failures are of the meetings %v, want %d: %v", name, of, taken, err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, dir, map[string]string{"a.vtt": talkVTT})
		restart()
	}
	if _, err := a.Forget(t.Context(), taken, "test"); err != nil {
		t.Fatal(err)
	}
	if open, err := a.Failures(t.Context(), false); err != nil || len(open) != 1 || open[0].What != "other.vtt" {
		t.Errorf("the names of a forgotten meeting's files are kept: %+v, %v", open, err)
	}
}

// TestFailuresOfFilesThatAreGoneAreClosed removes a refused file, and gives a refused
// folder its files.
func TestFailuresOfFilesThatAreGoneAreClosed(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	writeFiles(t, dir, map[string]string{"a.vtt": "", "b/meeting.toml": "", "c/c.vtt": ""})
	w := NewWatcher(a, Options{}, dir)
	look(t, w)
	if r := look(t, w); len(r.Wrong) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, name := range []string{"a.vtt", "b/meeting.toml", "c"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	look(t, NewWatcher(a, Options{}, dir)) // after a restart too
	if open, err := a.Failures(t.Context(), true); err != nil || len(open) != 0 {
		t.Errorf("still fail: %+v, %v", open, err)
	}
}

// TestNoFailureOutlivesItsMeeting refuses metadata and a recording, and then takes their
// transcripts away, or stops watching. Once the transcripts are back, they fail again.
func TestNoFailureOutlivesItsMeeting(t *testing.T) {
	a, dir := archivetest.New(t), t.TempDir()
	folder, away := filepath.Join(dir, "watched"), filepath.Join(dir, "away")
	writeFiles(t, folder, map[string]string{"a/a.vtt": talkVTT, "a/a.toml": "titel = 1", "b.vtt": talkVTT, "b.mp3": "ID3 recording"})
	w := NewWatcher(a, Options{MinFree: 1 << 60}, folder)
	fails := func(when string, want int) {
		t.Helper()
		look(t, w)
		look(t, w)
		if open, err := a.Failures(t.Context(), true); err != nil || len(open) != want {
			t.Errorf("%s: %+v, %v", when, open, err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	fails("refused", 2)
	move(filepath.Join(folder, "b.mp3"), away)
	fails("without the recording", 1)
	move(away, filepath.Join(folder, "b.mp3"))
	fails("with the recording", 2)
	move(filepath.Join(folder, "a"), away)
	fails("without the folder", 1)
	move(away, filepath.Join(folder, "a"))
	fails("with the folder", 2)
	move(filepath.Join(folder, "a/a.vtt"), filepath.Join(dir, "a.vtt"))
	move(filepath.Join(folder, "b.vtt"), filepath.Join(dir, "b.vtt"))
	fails("without the transcripts", 0)
	move(filepath.Join(dir, "a.vtt"), filepath.Join(folder, "a/a.vtt"))
	fails("with a transcript", 1)
	w = NewWatcher(a, Options{}, "")
	fails("not watched", 0)
}

// TestMetadataOfManyPeople has as many people as speakers.
func TestMetadataOfManyPeople(t *testing.T) {
	dir := t.TempDir()
	var people, captions strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&people, "%q, ", fmt.Sprintf("P%d <p%d@north.example>", i, i))
		fmt.Fprintf(&captions, "0:0 --> 0:0\n<v p%d>a.\n\n", i)
	}
	writeFiles(t, dir, map[string]string{"a.vtt": "WEBVTT\n\n" + captions.String(), "a.toml": "people = [" + people.String() + "]"})
	m, err := readForeign(foreign{transcript: filepath.Join(dir, "a.vtt"), metadata: filepath.Join(dir, "a.toml")})
	if err == nil {
		err = m.fill(&Options{}, nil, false)
	}
	if err != nil || len(m.Transcript.Or(nil)) != 5000 || m.Transcript.Or(nil)[4999].Speaker.MatchedCalendarInviteeEmail.Or("") != "p4999@north.example" {
		t.Errorf("%d entries, %v", len(m.Transcript.Or(nil)), err)
	}
}

// TestATalkThatGoesOnIsTheSameMeeting appends to a file that was taken, in the middle of its
// only sentence, and of a word.
func TestATalkThatGoesOnIsTheSameMeeting(t *testing.T) {
	a, dir := ticking(t), t.TempDir()
	w := NewWatcher(a, Options{}, dir)
	text := "WEBVTT\n\n00:01.000 --> 00:02.000\nthe talk begins with ham"
	for range 3 {
		writeFiles(t, dir, map[string]string{"a.vtt": text})
		look(t, w)
		if r := look(t, w); r.Changed != 1 || len(allRows(t, a)) != 1 {
			t.Errorf("%+v, %d meetings", r, len(allRows(t, a)))
		}
		text = strings.TrimSuffix(text, "\n") + "mer\n\n00:02.000 --> 00:03.000\ngoes on and on\n"
	}
}

// TestAnotherTalkInTheSameFileIsAnotherMeeting writes talks into a file that have a sentence
// in common with the one that was taken from it, which stays as it was.
func TestAnotherTalkInTheSameFileIsAnotherMeeting(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []string
		want          int // meetings
	}{
		"said again and again": {[]string{"The budget.", "Yeah.", "Yeah.", "Yeah.", "Bye then."}, []string{"Holidays.", "Yeah.", "The sea.", "Ships."}, 2},
		"and in the new one":   {[]string{"The budget.", "Yeah.", "Costs.", "Bye then."}, []string{"Holidays.", "Yeah.", "Yeah.", "Yeah.", "Yeah.", "The sea.", "Ships."}, 2},
		"one that has begun":   {[]string{"The budget.", "Yeah.", "Costs.", "Bye then."}, []string{"Yeah."}, 2},
		"after a short one":    {[]string{"Yeah."}, []string{"Holidays.", "Yeah.", "The sea.", "Ships."}, 2},
		"half of it":           {[]string{"The budget.", "Yeah.", "Costs.", "Bye then."}, []string{"The budget.", "Yes.", "Costs.", "Bye now."}, 1},
		"corrected and longer": {[]string{"The budgie.", "Yeah.", "Costs.", "Bye then."}, []string{"The budget.", "Yeah.", "Costs.", "Bye then.", "See you."}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a, dir := ticking(t), t.TempDir()
			w := NewWatcher(a, Options{}, dir)
			for _, said := range [][]string{c.before, c.after} {
				text := "WEBVTT\n"
				for i, s := range said {
					text += fmt.Sprintf("\n00:%02d.000 --> 00:%02d.000\nSPEAKER_%02d: %s\n", 5*i+1, 5*i+3, i%2, s)
				}
				writeFiles(t, dir, map[string]string{"a.vtt": text})
				look(t, w)
				if r := look(t, w); r.Read != 1 {
					t.Fatalf("not taken: %+v", r)
				}
			}
			if rows := allRows(t, a); len(rows) != c.want {
				t.Errorf("%d meetings, want %d", len(rows), c.want)
			}
		})
	}
}
