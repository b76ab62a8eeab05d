package importer

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/export"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

func importText(t *testing.T, a *archive.Archive, text string) Result {
	t.Helper()
	r, err := Read(t.Context(), a, Options{}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// line writes JSON on one line.
func line(raw []byte) string { return strings.ReplaceAll(string(raw), "\n", " ") }

func exportTo(t *testing.T, a *archive.Archive, o export.Options) {
	t.Helper()
	if _, err := export.Run(t.Context(), a, o); err != nil {
		t.Fatal(err)
	}
}

func TestExportReadsBackWithoutADifference(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := archivetest.Sample(t)
	lines := append(sample.All(), archivetest.Meeting(1, "a\u2028b", "x\ny"), []byte(`{"recording_id":2,"transcript":null,"highlights":[],"z":1.50}`))
	for _, raw := range lines[len(lines)-2:] {
		archivetest.Apply(t, a, archivetest.Epoch, raw)
	}
	for _, format := range []export.Format{export.NDJSON, export.JSON} {
		dir, back := t.TempDir(), archivetest.New(t)
		exportTo(t, a, export.Options{Dir: dir, Format: format})
		r, err := ReadPath(t.Context(), back, Options{}, dir)
		if err != nil || len(r.Wrong) > 0 || r.Read != len(lines) || r.New != len(lines) {
			t.Fatalf("%s: %+v, %v", format, r, err)
		}
		again := t.TempDir()
		exportTo(t, back, export.Options{Dir: again, Format: format})
		was, is := archivetest.Tree(t, dir), archivetest.Tree(t, again)
		for name, content := range was {
			if name != ".minutebook-export.db" && content != is[name] {
				t.Errorf("%s: %s differs", format, name)
			}
		}
		head, _ := back.Head(t.Context())
		r, err = ReadPath(t.Context(), back, Options{}, dir)
		if now, _ := back.Head(t.Context()); err != nil || r.Changed != 0 || r.New != 0 || now != head {
			t.Errorf("%s: the second import changed something: %+v, %v", format, r, err)
		}
	}
}

func TestImportNamesWrongLinesAndTakesTheRest(t *testing.T) {
	a := archivetest.New(t)
	lines := []string{line(archivetest.Meeting(1, "one", "a")), `{"recording_id": 2, "title": `, "", `{"title": "no id"}`, `42`,
		"\ufeff", `{"recording_id": -3}`, line(archivetest.Meeting(4, "four", "d")) + "\r", `[{"recording_id": 5}, {"recording_id": 0}]`, line(archivetest.Meeting(6, "six", "f")), `{} {}`}
	r := importText(t, a, strings.Join(lines, "\n"))
	var wrong []int
	for _, w := range r.Wrong {
		wrong = append(wrong, w.Line)
		if !strings.HasPrefix(w.Error(), fmt.Sprintf("line %d: ", w.Line)) {
			t.Errorf("wrong line reads %q", w.Error())
		}
		if regexp.MustCompile(`json|EOF|invalid character|%!`).MatchString(w.Error()) {
			t.Errorf("line %d speaks of Go: %q", w.Line, w.Error())
		}
	}
	if fmt.Sprint(wrong) != "[2 4 5 6 7 9 11]" || r.Read != 4 || r.New != 4 {
		t.Errorf("wrong lines %v, %+v", wrong, r)
	}
	for _, id := range []int64{1, 4, 5, 6} {
		if _, err := a.Row(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func TestImportReadsDocuments(t *testing.T) {
	pretty := "{\n \"recording_id\": 1,\n \"title\": \"a\"\n}\n"
	for name, text := range map[string]string{
		"object":  pretty,
		"objects": pretty + strings.Replace(pretty, ": 1", ": 2", 1),
		"array":   "[\n" + pretty + ",\n{\"title\": 3},\n" + strings.Replace(pretty, ": 1", ": 2", 1) + "]\n",
		"page":    "{\n\"limit\": 10, \"items\": [\n" + pretty + "], \"next_cursor\": null}",
		"one":     `{"limit": 10, "items": [{"recording_id": 1, "title": "a"}], "next_cursor": null}`,
		"broken":  pretty + "{\n \"recording_id\": 2,\n \"title\": \n}\n",
	} {
		a := archivetest.New(t)
		r := importText(t, a, text)
		if _, err := a.Row(t.Context(), 1); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := ""
		switch name {
		case "array":
			want = "[7]"
		case "broken":
			want = "[8]"
		}
		var wrong []int
		for _, w := range r.Wrong {
			wrong = append(wrong, w.Line)
		}
		if got := fmt.Sprint(wrong); got != want && !(want == "" && len(wrong) == 0) {
			t.Errorf("%s: wrong lines %v %v", name, wrong, r.Wrong)
		}
	}
}

func TestImportUnwrapsFiles(t *testing.T) {
	dir := t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var packed, sealed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(archivetest.Meeting(1, "one", "a"))
	z.Close()
	w, err := age.Encrypt(&sealed, id.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	w.Write(packed.Bytes())
	w.Close()
	path := filepath.Join(dir, "meetings.ndjson.gz.age")
	if err := os.WriteFile(path, sealed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	a := archivetest.New(t)
	if _, err := ReadPath(t.Context(), a, Options{}, path); err == nil || !strings.Contains(err.Error(), "no identity") {
		t.Errorf("without an identity: %v", err)
	}
	if r, err := ReadPath(t.Context(), a, Options{}, dir, id); err != nil || r.New != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ReadPath(t.Context(), a, Options{}, t.TempDir()); err == nil {
		t.Error("imported an empty directory")
	}
}

func TestImportNeverReplacesWhatWasRead(t *testing.T) {
	now := archivetest.Epoch
	a := archivetest.OpenAt(t, archivetest.Dir(t), func() time.Time { return now })
	archivetest.Apply(t, a, archivetest.Epoch, archivetest.Meeting(1, "read", "said"))
	now = now.Add(1000 * time.Hour)
	importText(t, a, line(archivetest.Meeting(1, "told", "other")))
	row, err := a.Row(t.Context(), 1)
	if err != nil || row.Title != "read" {
		t.Errorf("title %q, %v", row.Title, err)
	}
}

func TestImportStopsWithItsContextAndLosesNothing(t *testing.T) {
	a := archivetest.New(t)
	_, err := Read(t.Context(), a, Options{}, &breaking{text: line(archivetest.Meeting(1, "a", "b")) + "\n{\"recording"})
	if !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	if _, err := a.Row(t.Context(), 1); err != nil {
		t.Errorf("what was read before the failure: %v", err)
	}
}

var errBroken = errors.New("disk pulled out")

type breaking struct{ text string }

func (b *breaking) Read(p []byte) (int, error) {
	if b.text == "" {
		return 0, errBroken
	}
	n := copy(p, b.text)
	b.text = b.text[n:]
	return n, nil
}

func FuzzImport(f *testing.F) {
	f.Add([]byte("{\"recording_id\":1}\n[1]\n"))
	f.Add([]byte("[\n{\"recording_id\":1},\n2]"))
	f.Add([]byte("{\"items\":[{}]}\x00\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		last := 0
		err := eachObject(bytes.NewReader(text), func(line int, raw []byte, err error) error {
			if line < last || line > 1+bytes.Count(text, []byte("\n")) || err == nil && raw == nil {
				t.Fatalf("line %d after %d of %q: %q, %v", line, last, text, raw, err)
			}
			last = line
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
