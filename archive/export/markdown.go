package export

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"minutebook/api"
	"minutebook/internal/civil"
)

// WriteMarkdown renders a meeting for note tools: front matter, links to its
// people, summary, action items as tasks, highlights and the transcript.
func WriteMarkdown(w io.Writer, m *Meeting) error {
	b := bufio.NewWriter(w)
	moments := momentsOf(m)
	frontMatter(b, m)
	fmt.Fprintf(b, "# %s\n", mdText(m.heading()))
	if links := peopleLinks(m); len(links) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(links, " · "))
	}
	if s, ok := m.Notes.DefaultSummary.Get(); ok && strings.TrimSpace(s.MarkdownFormatted.Or("")) != "" {
		fmt.Fprintf(b, "\n## Summary\n\n%s\n", lowerHeadings(strings.TrimSpace(s.MarkdownFormatted.Or(""))))
	}
	mdActionItems(b, m, moments)
	if marks, _ := m.Notes.Highlights.Get(); len(marks) > 0 {
		b.WriteString("\n## Highlights\n\n")
		for _, h := range marks {
			at := api.ToOffset(h.StartTime)
			fmt.Fprintf(b, "- %s%s: %s\n", mdStrong(h.Type), moments.format(at), mdText(cmp.Or(h.Summary.Or(""), h.Text.Or(""))))
		}
	}
	mdNotes(b, m, moments)
	if len(m.Entries) > 0 {
		b.WriteString("\n## Transcript\n")
	}
	for _, e := range m.Entries {
		fmt.Fprintf(b, "\n%s%s %s\n", mdStrong(e.Speaker), moments.format(e.Offset), mdText(e.Text))
	}
	return b.Flush()
}

// frontMatter writes YAML whose every string is quoted as JSON, which is YAML where the characters
// that YAML refuses are escaped.
func frontMatter(w io.Writer, m *Meeting) {
	r := m.Row
	fmt.Fprintf(w, "---\nrecording_id: %d\ntitle: %s\n", r.RecordingID, quoteJSON(r.Title))
	if start := r.Key().Start; civil.IsKnown(start) {
		fmt.Fprintf(w, "date: %s\n", start.UTC().Format(time.RFC3339))
	}
	if d := m.Row.Length(); d > 0 {
		fmt.Fprintf(w, "minutes: %d\n", int(d.Round(time.Minute).Minutes()))
	}
	for _, f := range []struct{ key, value string }{{"type", r.MeetingType}, {"language", r.Language}, {"shared_with", r.SharedWith},
		{"recorded_by", r.RecordedBy.Email}, {"team", r.RecordedBy.Team.Or("")}, {"url", r.URL}} {
		if f.value != "" {
			fmt.Fprintf(w, "%s: %s\n", f.key, quoteJSON(f.value))
		}
	}
	if len(m.People) > 0 {
		fmt.Fprintf(w, "people:\n")
		for _, p := range m.People {
			fmt.Fprintf(w, "  - %s\n", quoteJSON(p.Name))
		}
	}
	if r.Gone {
		fmt.Fprintf(w, "gone: %s\n", r.GoneAt.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(w, "---\n\n")
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(strings.ToValidUTF8(s, "�")) != nil { // a string can always be encoded
		return `""`
	}
	return unprintable.ReplaceAllStringFunc(strings.TrimSpace(b.String()), func(c string) string {
		r, _ := utf8.DecodeRuneInString(c)
		return fmt.Sprintf("\\u%04x", r)
	})
}

// unprintable are the characters that JSON allows in a string, and readers of YAML refuse.
var unprintable = regexp.MustCompile(`[\x{7f}-\x{9f}\x{feff}\x{fffe}\x{ffff}]`)

func peopleLinks(m *Meeting) []string {
	var links []string
	for _, p := range m.People {
		if p.File == "" { // a sealed export has no pages of people
			links = append(links, mdLine(p.Name))
			continue
		}
		links = append(links, mdLink(p.Name, m.File, p.File))
	}
	return links
}

func mdNotes(w io.Writer, m *Meeting, moments moments) {
	if len(m.Added.Notes) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## Notes\n\n")
	for _, n := range m.Added.Notes {
		fmt.Fprintf(w, "- %s", mdLine(n.Text))
		if n.Author != "" {
			fmt.Fprintf(w, " (%s)", mdText(n.Author))
		}
		if n.At >= 0 {
			fmt.Fprintf(w, " %s", moments.format(n.At))
		}
		fmt.Fprintln(w)
	}
}

func mdActionItems(w io.Writer, m *Meeting, moments moments) {
	items, _ := m.Notes.ActionItems.Get()
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## Action items\n\n")
	for _, item := range items {
		at, mark := m.checkItem(item)
		fmt.Fprintf(w, "- [%c] %s", mark, mdText(item.Description))
		if who, ok := item.Assignee.Get(); ok {
			if p, ok := personOf(who.Name.Or(""), who.Email.Or("")); ok {
				fmt.Fprintf(w, " (%s)", mdText(p.Name))
			}
		}
		if at >= 0 {
			fmt.Fprintf(w, " %s", moments.format(at))
		}
		fmt.Fprintln(w)
	}
}

// moments writes offsets, as links into a meeting's recording when it has one. before
// and after are the parts of the link around the seconds.
type moments struct{ before, after string }

var angles = strings.NewReplacer("<", "%3C", ">", "%3E")

func momentsOf(m *Meeting) moments {
	u, err := url.Parse(m.Row.ShareURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return moments{}
	}
	q := u.Query()
	q.Del("timestamp")
	fragment := ""
	if u.Fragment != "" {
		fragment = "#" + u.EscapedFragment()
	}
	u.RawQuery, u.Fragment, u.RawFragment = q.Encode(), "", ""
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "timestamp="
	return moments{"](<" + angles.Replace(u.String()), angles.Replace(fragment) + ">)"}
}

func (s moments) format(offset time.Duration) string {
	offset = max(offset, 0)
	if s.before == "" {
		return "`" + api.FormatOffset(offset) + "`"
	}
	return "[" + api.FormatOffset(offset) + s.before + strconv.FormatInt(int64(offset/time.Second), 10) + s.after
}

// mdLink links from one file of the export to another.
func mdLink(label, from, to string) string {
	depth := strings.Count(path.Dir(from)+"/", "/")
	if path.Dir(from) == "." {
		depth = 0
	}
	parts := strings.Split(to, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return fmt.Sprintf("[%s](%s%s)", mdText(label), strings.Repeat("../", depth), strings.Join(parts, "/"))
}

var mdEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
	"#", `\#`, "|", `\|`, "~", `\~`, "$", `\$`, "&", `\&`)

// mdText returns a text on one line, as Markdown that shows exactly this text.
func mdText(s string) string { return mdEscapes.Replace(oneLine(s)) }

// mark is a beginning of a line that makes it an item of a list, or a rule.
var mark = regexp.MustCompile(`^(\d*)([-+.)])(\s|$|--)`)

// mdLine is mdText for a text with which a line, or an item of a list, begins.
func mdLine(s string) string { return mark.ReplaceAllString(mdText(s), `$1\$2$3`) }

// mdStrong returns a name as strong text with a space after it, "" for one without letters:
// asterisks alone would be shown, or be a rule.
func mdStrong(name string) string {
	if name = mdText(name); name == "" {
		return ""
	}
	return "**" + name + "** "
}

// lowerHeadings moves the headings of a summary below its own heading. Fenced code
// stays as it is.
func lowerHeadings(markdown string) string {
	fenced := false
	lines := strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")
	for i, line := range lines {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if !fenced && level > 0 && level < 6 && strings.HasPrefix(line[level:], " ") {
			lines[i] = strings.Repeat("#", min(2, 6-level)) + line
		}
	}
	return strings.Join(lines, "\n")
}
