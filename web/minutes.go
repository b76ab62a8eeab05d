package web

import (
	"bytes"
	"fmt"
	"strings"

	"minutebook/api"
	"minutebook/archive"
)

// minutesOf writes a meeting as Markdown: to keep, to print, to send.
func minutesOf(m *api.Meeting, row listed, entries []archive.Entry) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s", inline(heading(row.Row)), row.Start.Format("Monday, 2 January 2006, 15:04 MST"))
	if length := minutes(row.Length); length != "" {
		fmt.Fprintf(&b, " · %s", length)
	}
	if row.RecordedBy.Name != "" {
		fmt.Fprintf(&b, " · recorded by %s", inline(row.RecordedBy.Name))
	}
	b.WriteString("\n")
	if all := people(m); len(all) > 0 {
		names := make([]string, len(all))
		for i, p := range all {
			names[i] = inline(p.Name)
		}
		fmt.Fprintf(&b, "\nInvited: %s\n", strings.Join(names, ", "))
	}
	if sum := m.DefaultSummary.Or(api.Summary{}).MarkdownFormatted.Or(""); sum != "" {
		fmt.Fprintf(&b, "\n## Summary\n\n%s\n", strings.TrimSpace(sum))
	}
	if items := actionsOf(m, m.RecordingID); len(items) > 0 {
		b.WriteString("\n## Action items\n\n")
		for _, a := range items {
			box := " "
			if a.Done {
				box = "x"
			}
			fmt.Fprintf(&b, "- [%s] %s", box, inline(a.Text))
			if a.Who != "" {
				fmt.Fprintf(&b, " (%s)", inline(a.Who))
			}
			b.WriteString("\n")
		}
	}
	if len(entries) > 0 {
		b.WriteString("\n## Transcript\n")
		for i, e := range entries {
			if i == 0 || entries[i-1].Speaker != e.Speaker {
				fmt.Fprintf(&b, "\n**%s** %s  \n", inline(e.Speaker), clock(e.Offset))
			}
			b.WriteString(inline(e.Text) + "\n")
		}
	}
	return b.Bytes()
}

// inline keeps a text on one line and what Markdown would read in it a text.
func inline(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "<", `\<`, "#", `\#`).
		Replace(strings.Join(strings.Fields(s), " "))
}
