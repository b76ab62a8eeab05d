package archive

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"minutebook/api"
)

// renderJSON writes the meeting in the service's shape, as it is kept.
func renderJSON(w io.Writer, raw []byte) error {
	if _, err := w.Write(bytes.TrimSpace(raw)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// RenderText writes a meeting for reading, as plain text.
func RenderText(w io.Writer, m *ExportedMeeting) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n", m.heading())
	if start := m.Row.Key().Start; start.Unix() > 0 {
		fmt.Fprintf(b, "%s", start.UTC().Format("2006-01-02 15:04 MST"))
		if d := m.length(); d > 0 {
			fmt.Fprintf(b, ", %d minutes", int(d.Round(time.Minute).Minutes()))
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
	if s, ok := m.Meeting.DefaultSummary.Get(); ok && s.MarkdownFormatted.Or("") != "" {
		fmt.Fprintf(b, "\nSUMMARY\n\n%s\n", strings.TrimSpace(s.MarkdownFormatted.Or("")))
	}
	if items, _ := m.Meeting.ActionItems.Get(); len(items) > 0 {
		b.WriteString("\nACTION ITEMS\n\n")
		for _, item := range items {
			mark := ' '
			if item.Completed {
				mark = 'x'
			}
			fmt.Fprintf(b, "[%c] %s%s\n", mark, oneLine(item.Description), assigneeSuffix(item))
		}
	}
	if len(m.Entries) > 0 {
		b.WriteString("\nTRANSCRIPT\n\n")
	}
	for _, e := range m.Entries {
		fmt.Fprintf(b, "[%s] %s: %s\n", api.FormatOffset(e.Offset), oneLine(e.Speaker), oneLine(e.Text))
	}
	return b.Flush()
}

func assigneeSuffix(item api.ActionItem) string {
	who, ok := item.Assignee.Get()
	if !ok || who.Name.Or(who.Email.Or("")) == "" {
		return ""
	}
	return " (" + oneLine(who.Name.Or(who.Email.Or(""))) + ")"
}

// lines exports all meetings into one file.
func (x *export) lines(ctx context.Context) error {
	f := &exportedFile{What: "file:meetings.ndjson", Format: ExportNDJSON, Name: "meetings.ndjson", synced: true}
	if len(x.Recipients) > 0 {
		f.Name += ".age"
	}
	return x.stream(f, func(w io.Writer) error {
		return x.archive.eachExported(ctx, x.IDs, func(row *Row) error {
			raw, err := x.archive.MeetingJSON(ctx, row.RecordingID)
			if err != nil {
				return err
			}
			x.count(func(r *ExportResult) { r.Meetings++ })
			_, err = w.Write(append(compactLine(raw), '\n'))
			return err
		})
	})
}

// compactLine puts JSON on one line. Only line breaks between values are
// replaced; a string cannot hold one.
func compactLine(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, raw)
}
