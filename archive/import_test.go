package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/sample"
)

func import1(t *testing.T, a *Archive, text string) ImportResult {
	t.Helper()
	r, err := a.Import(t.Context(), ImportOptions{}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExportReadsBackWithoutADifference(t *testing.T) {
	a := sampleArchive(t)
	odd := append(sample.All(), meetingJSON(1, "a\u2028b", "x\ny"), []byte(`{"recording_id":2,"transcript":null,"highlights":[],"z":1.50}`))
	for _, raw := range odd[len(odd)-2:] {
		apply(t, a, observe(t, SourceList, epoch0, raw))
	}
	for _, format := range []ExportFormat{ExportNDJSON, ExportJSON} {
		dir, back := t.TempDir(), newArchive(t)
		export1(t, a, ExportOptions{Dir: dir, Format: format})
		r, err := back.ImportPath(t.Context(), ImportOptions{}, dir)
		if err != nil || len(r.Wrong) > 0 || r.Read != len(odd) || r.New != len(odd) {
			t.Fatalf("%s: %+v, %v", format, r, err)
		}
		again := t.TempDir()
		export1(t, back, ExportOptions{Dir: again, Format: format})
		was, is := tree(t, dir), tree(t, again)
		for name, content := range was {
			if name != ledgerName && content != is[name] {
				t.Errorf("%s: %s differs", format, name)
			}
		}
		head, _ := back.Head(t.Context())
		r, err = back.ImportPath(t.Context(), ImportOptions{}, dir)
		if now, _ := back.Head(t.Context()); err != nil || r.Changed != 0 || r.New != 0 || now != head {
			t.Errorf("%s: the second import changed something: %+v, %v", format, r, err)
		}
	}
}

func TestImportNamesWrongLinesAndTakesTheRest(t *testing.T) {
	a := newArchive(t)
	lines := []string{string(compactLine(meetingJSON(1, "one", "a"))), `{"recording_id": 2, "title": `, "", `{"title": "no id"}`, `42`,
		"\ufeff", `{"recording_id": -3}`, string(compactLine(meetingJSON(4, "four", "d"))) + "\r", `[{"recording_id": 5}, {"recording_id": 0}]`, string(compactLine(meetingJSON(6, "six", "f")))}
	r := import1(t, a, strings.Join(lines, "\n"))
	var wrong []int
	for _, w := range r.Wrong {
		wrong = append(wrong, w.Line)
		if !strings.HasPrefix(w.Error(), fmt.Sprintf("line %d: ", w.Line)) {
			t.Errorf("wrong line reads %q", w.Error())
		}
	}
	if fmt.Sprint(wrong) != "[2 4 5 6 7 9]" || r.Read != 4 || r.New != 4 {
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
		a := newArchive(t)
		r := import1(t, a, text)
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
	z.Write(meetingJSON(1, "one", "a"))
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
	a := newArchive(t)
	if _, err := a.ImportPath(t.Context(), ImportOptions{}, path); err == nil || !strings.Contains(err.Error(), "no identity") {
		t.Errorf("without an identity: %v", err)
	}
	if r, err := a.ImportPath(t.Context(), ImportOptions{}, dir, id); err != nil || r.New != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := a.ImportPath(t.Context(), ImportOptions{}, t.TempDir()); err == nil {
		t.Error("imported an empty directory")
	}
}

func TestImportNeverReplacesWhatWasRead(t *testing.T) {
	a := newArchive(t)
	apply(t, a, observe(t, SourceList, epoch0, meetingJSON(1, "read", "said")))
	a.now = func() time.Time { return epoch0.Add(1000 * time.Hour) }
	import1(t, a, string(compactLine(meetingJSON(1, "told", "other"))))
	row, err := a.Row(t.Context(), 1)
	if err != nil || row.Title != "read" {
		t.Errorf("title %q, %v", row.Title, err)
	}
}

func TestImportStopsWithItsContextAndLosesNothing(t *testing.T) {
	a := newArchive(t)
	_, err := a.Import(t.Context(), ImportOptions{}, &breaking{text: string(compactLine(meetingJSON(1, "a", "b"))) + "\n{\"recording"})
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
