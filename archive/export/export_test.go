package export

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
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/internal/testrun"
	"minutebook/sample"
)

// testSite is a site of bare pages.
type testSite struct{}

func (testSite) Meeting(w io.Writer, m *Meeting) error {
	_, err := fmt.Fprintf(w, "<h1>%s</h1>", m.Row.Title)
	return err
}
func (testSite) Person(w io.Writer, p PersonPage) error {
	_, err := fmt.Fprintf(w, "%s is in %d", p.Name, p.Count)
	return err
}
func (testSite) Index(w io.Writer, all List) error {
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

func exportTo(t *testing.T, a *archive.Archive, o Options) Result {
	t.Helper()
	o.Site = testSite{}
	r, err := Run(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExportWritesEveryFormatAndTheSecondTimeNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	a := archivetest.Sample(t)
	all := len(sample.All())
	for _, format := range Formats() {
		dir := t.TempDir()
		r := exportTo(t, a, Options{Dir: dir, Format: format})
		if r.Meetings != all || r.Written == 0 || r.Unchanged != 0 {
			t.Errorf("%s: first %+v", format, r)
		}
		before := archivetest.Tree(t, dir)
		repeated := exportTo(t, a, Options{Dir: dir, Format: format})
		if repeated.Written != 0 || repeated.Unchanged != r.Written {
			t.Errorf("%s: second %+v after %+v", format, repeated, r)
		}
		if len(archivetest.Tree(t, dir)) != len(before) {
			t.Errorf("%s: the second run changed what is there", format)
		}
		// Without the ledger the files themselves tell that they are right.
		os.Remove(filepath.Join(dir, ledgerName))
		if r := exportTo(t, a, Options{Dir: dir, Format: format}); r.Written != 0 {
			t.Errorf("%s: without its ledger %+v", format, r)
		}
		for name := range archivetest.Tree(t, dir) {
			if strings.HasPrefix(filepath.Base(name), ".tmp-") {
				t.Errorf("%s: left %s", format, name)
			}
		}
	}
}

func TestExportKeepsNamesAndRewritesWhatChanged(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	before := archivetest.Tree(t, dir)
	raw := bytes.Replace(sample.All()[0], []byte(`"title":"Battery drain on the L3, first look"`), []byte(`"title":"Drain!"`), 1)
	archivetest.Apply(t, a, archivetest.Epoch.Add(time.Hour), raw)
	r := exportTo(t, a, Options{Dir: dir, Format: Markdown})
	after := archivetest.Tree(t, dir)
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
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	exportTo(t, a, Options{Dir: dir, Format: Markdown})
	links := 0
	for name, content := range archivetest.Tree(t, dir) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, part := range strings.Split(content, "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			if !strings.Contains(target, ".md") {
				continue
			}
			links++
			if !archivetest.Exists(filepath.Join(dir, filepath.Dir(name), unescape(t, target))) {
				t.Errorf("%s links to %s", name, target)
			}
		}
	}
	if links < 300 {
		t.Errorf("only %d links", links)
	}
}

func TestExportOfSomeLeavesTheOthers(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	all := exportTo(t, a, Options{Dir: dir, Format: Markdown})
	m := &api.Meeting{}
	if err := json.Unmarshal(sample.All()[3], m); err != nil {
		t.Fatal(err)
	}
	partial := exportTo(t, a, Options{Dir: dir, Format: Markdown, IDs: []int64{m.RecordingID}})
	if partial.Meetings != 1 || partial.Written != 0 || partial.Removed != 0 || partial.Unchanged >= all.Written {
		t.Errorf("%+v after %+v", partial, all)
	}
	if _, err := Run(t.Context(), a, Options{Dir: dir, Format: Text, IDs: []int64{77}}); err == nil {
		t.Error("exported a meeting that is not there")
	}
}

func TestSealedExportTellsNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	a, dir := archivetest.Sample(t), t.TempDir()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: dir, Format: Text, Recipients: []age.Recipient{id.Recipient()}}
	exportTo(t, a, o)
	for name, content := range archivetest.Tree(t, dir) {
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
		if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), "TRANSCRIPT") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := exportTo(t, a, o); r.Written != 0 {
		t.Errorf("second run %+v", r)
	}
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
		if got := momentsOf(&Meeting{Row: &archive.Row{ShareURL: share}}).format(62 * time.Second); got != want {
			t.Errorf("%q: %s; want %s", share, got, want)
		}
	}
}
