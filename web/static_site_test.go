package web

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"minutebook/archive/export"
	"minutebook/archive/notes"
	"minutebook/internal/testrun"
)

// exportSite exports a site's archive as HTML into a new directory.
func exportSite(t *testing.T, s *site, recipients ...age.Recipient) (string, export.Result) {
	t.Helper()
	pages, err := NewSite(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := export.Run(t.Context(), s.archive, export.Options{Dir: dir, Format: export.HTML, Site: pages, Notes: s.notes, Recipients: recipients})
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// TestStaticSiteLinks follows every link and source of every page of an exported
// site: each leads to a file of the site and, where it names one, to an element
// of it, or away with http or mail.
func TestStaticSiteLinks(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir, r := exportSite(t, newSite(t))
	if r.Meetings == 0 {
		t.Fatal("nothing was exported")
	}
	link := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	pages, people, inside := 0, 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		pages++
		if filepath.Base(filepath.Dir(path)) == "people" {
			people++
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(body), "<script") || strings.Contains(string(body), "<form") {
			t.Errorf("%s has a script or a form", path)
		}
		for _, m := range link.FindAllStringSubmatch(string(body), -1) {
			u, err := url.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if u.Scheme == "https" || u.Scheme == "http" || u.Scheme == "mailto" {
				continue
			}
			inside++
			target := path
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(u.Path))
			}
			content, err := os.ReadFile(target)
			if strings.HasPrefix(u.Path, "/") || u.Scheme != "" || u.RawQuery != "" || err != nil {
				t.Errorf("%s links to %q, which no file answers", path, m[1])
			} else if u.Fragment != "" && !bytes.Contains(content, []byte(`id="`+u.Fragment+`"`)) {
				t.Errorf("%s links to %q, where nothing has this id", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages != r.Meetings+people+1 || people < 5 || inside < 7*pages {
		t.Errorf("%d pages, %d of them people's, with %d links for %d meetings", pages, people, inside, r.Meetings)
	}
}

// TestStaticSiteShows looks for the parts of a meeting, and that no markup in them
// acts: titles and words stay words.
func TestStaticSiteShows(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSiteBehind(t, meeting(7, "<script>alert(1)</script>", "2026-03-04T10:00:00Z", `"url":"https://svc.example/7","meeting_type":"Review",
		"transcript":[{"speaker":{"display_name":"Ana <b>"},"text":"One & two.","timestamp":"00:00:01"},{"speaker":{"display_name":"Bo"},"text":"Three.","timestamp":"00:01:01"}],
		"default_summary":{"template_name":"General","markdown_formatted":"## Plan\n\nSee [there](https://svc.example/7?timestamp=62.5) <img src=x>"},
		"action_items":[{"description":"Write it down","recording_timestamp":"00:01:02","completed":false,"assignee":{"name":"Bo"}}]`))
	if err := s.notes.Tick(t.Context(), notes.Owner, notes.NewItem(7, 62*time.Second, "Write it down")); err != nil {
		t.Fatal(err)
	}
	dir, _ := exportSite(t, s)
	found, err := filepath.Glob(filepath.Join(dir, "meetings", "2026-03-04-*-7.html"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the meeting's file: %v, %v", found, err)
	}
	for path, want := range map[string][]string{
		found[0]: {"&lt;script&gt;alert(1)", "Wednesday, 4 March 2026, 10:00 UTC", "Ana &lt;b&gt;", "One &amp; two.", `href="#e1"`, "Write it down", `aria-label="done">✓`, "done here",
			`<span class="who" dir="auto">Bo</span>`, `<a href="#e1"`, `href="../static/style.css"`, `<a href="../index.html">← Meetings</a>`, "no recording",
			`href="../people/ana-b.html"`, `href="../people/ana-ruiz.html"`, `href="../people/bo.html"`},
		filepath.Join(dir, "people", "bo.html"): {"<h1>Bo</h1>", "1 meeting", `href="../meetings/2026-03-04-`, `href="../static/style.css"`, "Wednesday, 4 March 2026"},
		filepath.Join(dir, "index.html"):        {"1 meeting", "Wednesday, 4 March 2026", "&lt;script&gt;", "Ana Ruiz", "Review", `href="static/style.css"`},
	} {
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(body), w) {
				t.Errorf("%s does not hold %q", filepath.Base(path), w)
			}
		}
		if strings.Contains(string(body), "<script") || strings.Contains(string(body), "<img") {
			t.Errorf("%s has a script or an image of the meeting's", filepath.Base(path))
		}
	}
}

// TestSealedSiteTellsNothing greps a sealed export for words of its meetings.
func TestSealedSiteTellsNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	who, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteBehind(t, meeting(7, "Zanzibar", "2026-03-04T10:00:00Z", ""))
	dir, _ := exportSite(t, s, who.Recipient())
	for _, format := range []export.Format{export.Markdown, export.JSON} {
		if _, err := export.Run(t.Context(), s.archive, export.Options{Dir: dir, Format: format, Recipients: []age.Recipient{who.Recipient()}}); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		for _, word := range []string{"Zanzibar", "zanzibar", "Ana Ruiz", "2026-03-04"} {
			if bytes.Contains(body, []byte(word)) || strings.Contains(path, word) {
				t.Errorf("%s tells %q", path, word)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "meetings", "7.html.age")); err != nil {
		t.Error(err)
	}
}
