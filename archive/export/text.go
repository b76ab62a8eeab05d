package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/internal/civil"
	"minutebook/internal/phrase"
)

// WriteText writes a meeting for reading, as plain text.
func WriteText(w io.Writer, m *Meeting) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n", m.heading())
	if start := m.Row.Key().Start; civil.IsKnown(start) {
		fmt.Fprintf(b, "%s", start.UTC().Format("2006-01-02 15:04 MST"))
		if d := m.Row.Length(); d > 0 {
			fmt.Fprintf(b, ", %s", phrase.Count(int(d.Round(time.Minute).Minutes()), "minute", "minutes"))
		}
		b.WriteByte('\n')
	}
	var names []string
	for _, p := range m.People {
		names = append(names, oneLine(p.Name))
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "With %s\n", strings.Join(names, ", "))
	}
	if s := strings.TrimSpace(m.Notes.DefaultSummary.Or(api.Summary{}).MarkdownFormatted.Or("")); s != "" {
		fmt.Fprintf(b, "\nSUMMARY\n\n%s\n", s)
	}
	if items, _ := m.Notes.ActionItems.Get(); len(items) > 0 {
		b.WriteString("\nACTION ITEMS\n\n")
		for _, item := range items {
			_, mark := m.checkItem(item)
			fmt.Fprintf(b, "[%c] %s%s\n", mark, oneLine(item.Description), assigneeSuffix(item))
		}
	}
	if len(m.Entries) > 0 {
		b.WriteString("\nTRANSCRIPT\n\n")
	}
	for _, e := range m.Entries {
		fmt.Fprintf(b, "[%s] %s%s\n", api.FormatOffset(e.Offset), speakerPrefix(oneLine(e.Speaker)), oneLine(e.Text))
	}
	return b.Flush()
}

func assigneeSuffix(item api.ActionItem) string {
	who := item.Assignee.Or(api.Assignee{})
	p, ok := personOf(oneLine(who.Name.Or("")), who.Email.Or(""))
	if !ok {
		return ""
	}
	return " (" + p.Name + ")"
}

// speakerPrefix returns a speaker's name and a colon, "" for a speaker without a name.
func speakerPrefix(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}
