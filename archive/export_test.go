package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/api"
	"minutebook/sample"
)

// sampleArchive holds the meetings of package sample.
func sampleArchive(t *testing.T) *Archive {
	t.Helper()
	a := newArchive(t)
	applySample(t, a)
	return a
}

func applySample(t *testing.T, a *Archive) {
	t.Helper()
	var batch []Observation
	for _, raw := range sample.All() {
		batch = append(batch, observe(t, SourceList, epoch0, raw))
	}
	apply(t, a, batch...)
}

// tree reads a directory: path below it to content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// testSite is a site of bare pages.
type testSite struct{}

func (testSite) Meeting(w io.Writer, m *ExportedMeeting) error {
	_, err := fmt.Fprintf(w, "<h1>%s</h1>", m.Row.Title)
	return err
}
func (testSite) Person(w io.Writer, p SitePerson) error {
	_, err := fmt.Fprintf(w, "%s is in %d", p.Name, p.Count)
	return err
}
func (testSite) Index(w io.Writer, all SiteList) error {
	n := 0
	for range all.Meetings {
		n++
	}
	_, err := fmt.Fprintf(w, "%d of %d", n, all.Count)
	return err
}
func (testSite) Files() map[string][]byte {
	return map[string][]byte{"static/style.css": []byte("b{}")}
}

func export1(t *testing.T, a *Archive, o ExportOptions) ExportResult {
	t.Helper()
	o.Site = testSite{}
	r, err := a.Export(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExportWritesEveryFormatAndTheSecondTimeNothing(t *testing.T) {
	a := sampleArchive(t)
	all := len(sample.All())
	for _, format := range ExportFormats() {
		dir := t.TempDir()
		r := export1(t, a, ExportOptions{Dir: dir, Format: format})
		if r.Meetings != all || r.Written == 0 || r.Unchanged != 0 {
			t.Errorf("%s: first %+v", format, r)
		}
		before := tree(t, dir)
		again := export1(t, a, ExportOptions{Dir: dir, Format: format})
		if again.Written != 0 || again.Unchanged != r.Written {
			t.Errorf("%s: second %+v after %+v", format, again, r)
		}
		if len(tree(t, dir)) != len(before) {
			t.Errorf("%s: the second run changed what is there", format)
		}
		// Without the ledger the files themselves tell that they are right.
		os.Remove(filepath.Join(dir, ledgerName))
		if r := export1(t, a, ExportOptions{Dir: dir, Format: format}); r.Written != 0 {
			t.Errorf("%s: without its ledger %+v", format, r)
		}
		for name := range tree(t, dir) {
			if strings.HasPrefix(filepath.Base(name), ".tmp-") {
				t.Errorf("%s: left %s", format, name)
			}
		}
	}
}

func TestExportKeepsNamesAndRewritesWhatChanged(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	before := tree(t, dir)
	raw := bytes.Replace(sample.All()[0], []byte(`"title":"Battery drain on the L3, first look"`), []byte(`"title":"Drain!"`), 1)
	apply(t, a, observe(t, SourceList, epoch0.Add(time.Hour), raw))
	r := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	after := tree(t, dir)
	var changed []string
	for name, content := range after {
		if before[name] != content && name != ledgerName {
			changed = append(changed, name)
		}
		if _, ok := before[name]; !ok {
			t.Errorf("new file %s", name)
		}
	}
	// The meeting, the index, and the four who were there.
	if len(changed) != 6 || r.Written != 6 {
		t.Errorf("changed %v, %+v", changed, r)
	}
	i := slices.IndexFunc(changed, func(n string) bool { return strings.Contains(n, "battery-drain") })
	if i < 0 || !strings.Contains(after[changed[i]], `title: "Drain!"`) {
		t.Errorf("the meeting with the new title is not under its old name: %v", changed)
	}
}

func TestMarkdownLinksLeadSomewhere(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	links := 0
	for name, content := range tree(t, dir) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, part := range strings.Split(content, "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			if !strings.Contains(target, ".md") {
				continue
			}
			links++
			if !exists(t, filepath.Join(dir, filepath.Dir(name), unescape(t, target))) {
				t.Errorf("%s links to %s", name, target)
			}
		}
	}
	if links < 300 {
		t.Errorf("only %d links", links)
	}
}

func TestExportOfSomeLeavesTheOthers(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	all := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown})
	m := &api.Meeting{}
	if err := json.Unmarshal(sample.All()[3], m); err != nil {
		t.Fatal(err)
	}
	some := export1(t, a, ExportOptions{Dir: dir, Format: ExportMarkdown, IDs: []int64{m.RecordingID}})
	if some.Meetings != 1 || some.Written != 0 || some.Removed != 0 || some.Unchanged >= all.Written {
		t.Errorf("%+v after %+v", some, all)
	}
	if _, err := a.Export(t.Context(), ExportOptions{Dir: dir, Format: ExportText, IDs: []int64{77}}); err == nil {
		t.Error("exported a meeting that is not there")
	}
}

func TestSealedExportTellsNothing(t *testing.T) {
	a, dir := sampleArchive(t), t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	o := ExportOptions{Dir: dir, Format: ExportText, Recipients: []age.Recipient{id.Recipient()}}
	export1(t, a, o)
	for name, content := range tree(t, dir) {
		if strings.Contains(name, "battery") || strings.Contains(content, "harbour") {
			t.Fatalf("%s can be read", name)
		}
		if name == ledgerName {
			continue
		}
		r, err := age.Decrypt(strings.NewReader(content), id)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(r); err != nil || !strings.Contains(string(plain), "TRANSCRIPT") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := export1(t, a, o); r.Written != 0 {
		t.Errorf("second run %+v", r)
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	return err == nil
}

func meetingOf(name string) *api.Meeting {
	return &api.Meeting{RecordedBy: api.Recorder{Name: name}}
}

func TestMomentsLeadIntoTheRecording(t *testing.T) {
	for share, want := range map[string]string{
		"https://x.example/share/1":                     "[00:01:02](<https://x.example/share/1?timestamp=62>)",
		"https://x.example/s?a=1&timestamp=5&b=%3C#top": "[00:01:02](<https://x.example/s?a=1&b=%3C&timestamp=62#top>)",
		"https://x.example/<b>":                         "[00:01:02](<https://x.example/%3Cb%3E?timestamp=62>)",
		"javascript:alert(1)":                           "`00:01:02`",
		"":                                              "`00:01:02`",
	} {
		if got := momentsOf(&ExportedMeeting{Row: &Row{ShareURL: share}}).at(62 * time.Second); got != want {
			t.Errorf("%q: %s; want %s", share, got, want)
		}
	}
}
