package web

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/archive"
	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/web/markdown"
)

func TestMarkerFindsWholeWordsAnywhere(t *testing.T) {
	testrun.SkipUnderRace(t)
	m := newMarker([]search.Moment{{Snippet: []search.Span{{Text: "Über", Hit: true}, {Text: " x "}, {Text: "the plan", Hit: true}, {Text: "予算", Hit: true}}}})
	for text, want := range map[string]string{
		"über uns":               "[über] uns",
		"ÜBER The Plan, planner": "[ÜBER] [The Plan], planner",
		"überall":                "",
		"İ the plan":             "İ [the plan]",
		"来月の予算です":                "来月の[予算]です",
		"":                       "",
	} {
		var b strings.Builder
		for _, s := range m.spans(text) {
			if s.Hit {
				b.WriteString("[" + s.Text + "]")
			} else {
				b.WriteString(s.Text)
			}
		}
		if b.String() != want {
			t.Errorf("%q: %q, want %q", text, b.String(), want)
		}
	}
}

func TestMarkerSparesWhatIsEverywhere(t *testing.T) {
	testrun.SkipUnderRace(t)
	var entries []archive.Entry
	for range 40 {
		entries = append(entries, archive.Entry{Text: "the thing"})
	}
	entries[7].Text = "the tariff"
	if diff := cmp.Diff([][]string{{"tariff"}}, marker{[][]string{{"tariff"}, {"the"}}}.withoutFrequent(entries).phrases); diff != "" {
		t.Error(diff)
	}
	if got := (marker{[][]string{{"the"}}}).withoutFrequent(entries).phrases; len(got) != 1 {
		t.Error("a query of nothing but common words marks nothing")
	}
}

func TestMarkdownIsCleaned(t *testing.T) {
	testrun.SkipUnderRace(t)
	html, err := markdown.Render("# Top\n\n## Sub\n\n<script>x</script><b onclick=x>bold</b>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"+
		"![i](https://spy.example/i.png) [l](https://ok.example/) [m](https://svc.example/7?timestamp=61.5) "+
		"[n](https://other.example/7?timestamp=61) [j](javascript:x)", atSecond, "https://svc.example/7")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h3>Top</h3>", "<h4>Sub</h4>", "<td>1</td>", `href="https://ok.example/"`, `href="?t=61"`, "noreferrer"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	for _, bad := range []string{"<script", "<b ", "<img", "javascript", `href="?t=61">n`} {
		if strings.Contains(string(html), bad) {
			t.Errorf("%s in %s", bad, html)
		}
	}
}

func TestFormats(t *testing.T) {
	testrun.SkipUnderRace(t)
	for got, want := range map[string]string{
		formatClock(65 * time.Second): "1:05", formatClock(3725 * time.Second): "1:02:05", formatClock(-1): "0:00",
		formatInstant(60 * time.Second): "1:00", formatInstant(60500 * time.Millisecond): "1:00.5", formatInstant(60025 * time.Millisecond): "1:00.025",
		formatMinutes(0): "", formatMinutes(20 * time.Second): "20 s", formatMinutes(59*time.Minute + 40*time.Second): "1 h", formatMinutes(90 * time.Minute): "1 h 30 min",
		formatNumber(-1234):             "-1\u202f234",
		fieldTerm("type", "Sales Call"): `type:"Sales Call"`, fieldTerm("email", "a@b.example"): "email:a@b.example",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
