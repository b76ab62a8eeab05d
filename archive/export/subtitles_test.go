package export

import (
	"bytes"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/notes"
)

func unescape(t *testing.T, s string) string {
	t.Helper()
	u, err := url.PathUnescape(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var cueTimes = regexp.MustCompile(`^(\d{2,}):([0-5]\d):([0-5]\d)[.,](\d{3}) --> (\d{2,}):([0-5]\d):([0-5]\d)[.,](\d{3})$`)

// readCues reads a subtitle file as strictly as its format is written down, and
// returns the texts of the cues.
func readCues(t testing.TB, file, eol string, header, numbered bool) []string {
	t.Helper()
	blocks := strings.Split(strings.TrimSuffix(strings.TrimSuffix(file, eol), eol), eol+eol)
	if header {
		if strings.TrimSuffix(blocks[0], eol) != "WEBVTT" {
			t.Fatalf("begins with %q", blocks[0])
		}
		blocks = blocks[1:]
	}
	if len(blocks) == 1 && blocks[0] == "" {
		return nil
	}
	var texts []string
	last := ""
	for i, block := range blocks {
		lines := strings.Split(block, eol)
		if numbered {
			if lines[0] != strconv.Itoa(i+1) {
				t.Fatalf("cue %d is numbered %q", i+1, lines[0])
			}
			lines = lines[1:]
		}
		if len(lines) != 2 {
			t.Fatalf("cue %d has %d lines: %q", i+1, len(lines), block)
		}
		m := cueTimes.FindStringSubmatch(lines[0])
		if m == nil {
			t.Fatalf("cue %d has times %q", i+1, lines[0])
		}
		from, to, _ := strings.Cut(lines[0], " --> ")
		if from >= to || from < last {
			t.Fatalf("cue %d goes from %s to %s after %s", i+1, from, to, last)
		}
		last = from
		if strings.Contains(lines[1], "-->") || strings.ContainsAny(lines[1], "\r\n\x00") || !utf8.ValidString(lines[1]) {
			t.Fatalf("cue %d says %q", i+1, lines[1])
		}
		texts = append(texts, lines[1])
	}
	return texts
}

var voice = regexp.MustCompile(`^(?:<v ([^<>]*)>)?([^<>]*)$`)

// checkSubtitles compares both formats with the transcript.
func checkSubtitles(t testing.TB, m *Meeting) {
	t.Helper()
	var vtt, srt strings.Builder
	if err := WriteVTT(&vtt, m); err != nil {
		t.Fatal(err)
	}
	if err := WriteSRT(&srt, m); err != nil {
		t.Fatal(err)
	}
	want := makeCues(m.Entries, m.Row.Length())
	gotVTT := readCues(t, vtt.String(), "\n", true, false)
	gotSRT := readCues(t, srt.String(), "\r\n", false, true)
	if len(gotVTT) != len(want) || len(gotSRT) != len(want) {
		t.Fatalf("%d cues in VTT and %d in SRT for %d", len(gotVTT), len(gotSRT), len(want))
	}
	for i, c := range want {
		v := voice.FindStringSubmatch(gotVTT[i])
		if v == nil {
			t.Fatalf("VTT cue %q has markup of its own", gotVTT[i])
		}
		if html.UnescapeString(strings.TrimSuffix(v[1], " ")) != html.UnescapeString(vttText(c.speaker)) || html.UnescapeString(v[2]) != html.UnescapeString(vttText(c.text)) {
			t.Fatalf("VTT cue %q for %q saying %q", gotVTT[i], c.speaker, c.text)
		}
		if strings.ContainsAny(gotSRT[i], "<>{}") {
			t.Fatalf("SRT cue %q has markup", gotSRT[i])
		}
	}
}

func TestSubtitlesOfAnyTalk(t *testing.T) {
	fragments := rapid.SampledFrom([]string{"Ann", "", " ", "-->", "--", "a --> b", "<v Bob>", "</v>", "a\n\nb", "1\r\n00:00:00,000 --> 00:00:01,000", "WEBVTT",
		"NOTE", "STYLE\n::cue{}", "{\\an8}", "&lt;", "&amp;", "&", "\x00", "\u2028", "\ufeff", "\xff\xfe", "\u202e", "42", "->", "日本", "a>b<c", "\v\f\u0085"})
	text := rapid.OneOf(rapid.String(), fragments, rapid.Custom(func(t *rapid.T) string { return fragments.Draw(t, "a") + fragments.Draw(t, "b") }))
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(rt, "entries")
		m := &Meeting{Row: &archive.Row{Start: archivetest.Epoch, End: archivetest.Epoch.Add(time.Duration(rapid.IntRange(-5, 400).Draw(rt, "length")) * time.Second)}}
		spoken := 0
		for range n {
			e := archive.Entry{Offset: time.Duration(rapid.Int64Range(-2000, 400_000).Draw(rt, "at")) * time.Millisecond, Speaker: text.Draw(rt, "speaker"), Text: text.Draw(rt, "text")}
			if oneLine(e.Text) != "" {
				spoken++
			}
			m.Entries = append(m.Entries, e)
		}
		checkSubtitles(t, m)
		if got := len(makeCues(m.Entries, m.Row.Length())); got != spoken {
			rt.Fatalf("%d cues for %d texts", got, spoken)
		}
	})
}

func TestSubtitlesShowEveryEntryByItself(t *testing.T) {
	entries := []archive.Entry{
		{Index: 0, Offset: 1 * time.Second, Speaker: "Ana", Text: "one"},
		{Index: 1, Offset: 5 * time.Second, Speaker: "Bo <b>", Text: "two\nlines --> here & there"},
		{Index: 2, Offset: 5 * time.Second, Speaker: "Ana", Text: "three"},
		{Index: 3, Offset: time.Hour, Speaker: "Ana --", Text: "four\u2028\x00more"},
		{Index: 4, Offset: time.Hour + 3*time.Second, Text: "five"},
	}
	want := `WEBVTT

00:00:01.000 --> 00:00:05.000
<v Ana>one

00:00:05.000 --> 00:00:15.000
<v Bo &lt;b&gt;>two lines --&gt; here &amp; there

00:00:15.000 --> 00:00:25.000
<v Ana>three

01:00:00.000 --> 01:00:03.000
<v Ana -- >four more

01:00:03.000 --> 01:00:13.000
five
`
	var got strings.Builder
	if err := WriteVTT(&got, &Meeting{Row: &archive.Row{}, Entries: entries}); err != nil {
		t.Fatal(err)
	}
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func FuzzSubtitles(f *testing.F) {
	f.Add("Ann --> <b>", "hello\n\n1\n00:00:00,000 --> 00:00:09,000\nno", int64(5))
	f.Add("{\\pos(1,1)}", "&lt;v x>", int64(-1))
	f.Fuzz(func(t *testing.T, speaker, text string, at int64) {
		at %= 1 << 40
		checkSubtitles(t, &Meeting{Row: &archive.Row{}, Entries: []archive.Entry{
			{Offset: time.Duration(at), Speaker: speaker, Text: text}, {Offset: time.Duration(at) + time.Second, Speaker: text, Text: speaker}}})
	})
}

func FuzzSlug(f *testing.F) {
	f.Add("Q3: Review / \\ ..", "con")
	f.Add("みなと水道", "..")
	f.Add("COM1", "lpt9")
	device := regexp.MustCompile(`^(con|prn|aux|nul|(com|lpt)[0-9])$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{slug(a, "x"), slug(b, "x")} {
			if device.MatchString(s) || s == "" || len(s) > maxSlug || strings.ContainsAny(s, `/\:*?"<>|. `+"\x00\n") || !utf8.ValidString(s) {
				t.Fatalf("slug %q", s)
			}
		}
	})
}

func FuzzMarkdownFrontMatter(f *testing.F) {
	f.Add("---\nx: y", "\"")
	f.Fuzz(func(t *testing.T, title, name string) {
		var b strings.Builder
		row := &archive.Row{RecordingID: 1, Title: title}
		m := &Meeting{Row: row, Notes: meetingOf(name), Entries: []archive.Entry{{Speaker: name, Text: title}}}
		frontMatter(&b, m)
		if strings.Count(b.String(), "\n---\n") != 1 || !strings.HasPrefix(b.String(), "---\nrecording_id: 1\ntitle: \"") {
			t.Fatalf("front matter %q", b.String())
		}
		if strings.ContainsAny(mdText(title), "\n\r") {
			t.Fatalf("text %q", mdText(title))
		}
	})
}

// FuzzOneLine holds the quick way against the long one.
func FuzzOneLine(f *testing.F) {
	for _, s := range []string{"", " ", "a", "a b", "a  b", " a", "a ", "a\nb", "ü", "a\u200bb", "a\x7fb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := oneLine(s); isOneLine(s) && got != strings.Join(strings.Fields(s), " ") || !isOneLine(got) && isASCII(got) {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' }) < 0
}

// TestMarkdownIsReadAsItWasSaid has texts with characters that YAML or Markdown read otherwise.
func TestMarkdownIsReadAsItWasSaid(t *testing.T) {
	const title = "It\u0092s\u007f a \ufeffplan\u2028\uffff"
	var b bytes.Buffer
	frontMatter(&b, &Meeting{Row: &archive.Row{Title: title}, Notes: &api.Meeting{}})
	var read struct{ Title string }
	if err := yaml.Unmarshal([]byte(strings.Trim(b.String(), "-\n")), &read); err != nil || read.Title != title {
		t.Errorf("%q reads as %q: %v", b.String(), read.Title, err)
	}
	for said, want := range map[string]string{"- ask": `\- ask`, "+ one": `\+ one`, "+1": "+1", "---": `\---`, "1. ask": `1\. ask`, "12) ask": `12\) ask`, "1.5 or -2": "1.5 or -2"} {
		b.Reset()
		mdNotes(&b, &Meeting{Added: Added{Notes: []Remark{{Note: notes.Note{Text: said, At: -1}}}}}, moments{})
		if _, got, _ := strings.Cut(strings.TrimSpace(b.String()), "\n\n- "); got != want {
			t.Errorf("%q is written as %q", said, got)
		}
	}
}
