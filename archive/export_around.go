package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"minutebook/internal/durable"
)

// Site renders a static site of meetings. It is implemented where the pages are.
type Site interface {
	// Meeting renders the page of a meeting, which is kept at m.File.
	Meeting(w io.Writer, m *ExportedMeeting) error
	// Index renders index.html, the meetings newest first.
	Index(w io.Writer, meetings []SiteEntry) error
	// Files are what the pages need beside them, such as style sheets, by their
	// path below the export's directory.
	Files() map[string][]byte
}

// SiteEntry is a line of a site's index.
type SiteEntry struct {
	File  string    // path below the export's directory, with slashes
	Title string    // may be empty
	Start time.Time // zero or before 1970: not known
	// Type and RecordedBy may be empty and Length zero where they are not known.
	Type, RecordedBy string
	Length           time.Duration
}

// around writes what belongs to no single meeting. It is made of the ledger, so
// that an export of some meetings does not take the others off the lists.
func (x *export) around(ctx context.Context) error {
	switch {
	case x.Format == ExportHTML:
		return x.site()
	case x.Format != ExportMarkdown || len(x.Recipients) > 0:
		return nil
	}
	list := x.ledger.newestFirst(x.Format)
	if err := durable.MkdirAll(x.path("people")); err != nil {
		return err
	}
	byPerson := map[string][]*exportedFile{}
	for _, f := range list {
		for _, key := range f.People {
			byPerson[key] = append(byPerson[key], f)
		}
	}
	for key, p := range x.ledger.Persons {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(byPerson[key]) == 0 {
			if err := x.leave(key, p); err != nil {
				return err
			}
			continue
		}
		err := x.write(&exportedFile{Name: p.File}, "person:"+key, func(w io.Writer) error { return personPage(w, p, byPerson[key]) })
		if err != nil {
			return err
		}
	}
	return x.write(&exportedFile{Name: "index.md"}, "file:index.md", func(w io.Writer) error { return markdownIndex(w, list) })
}

// site writes what the pages of ExportHTML need beside them, and their index.
// Style sheets tell nothing, so that they stay readable in a sealed export too;
// an index would tell, and is left out there.
func (x *export) site() error {
	for name, content := range x.Site.Files() {
		if err := durable.MkdirAll(x.path(parentOf(name))); err != nil {
			return err
		}
		err := x.write(&exportedFile{Name: name, open: true}, "file:"+name, func(w io.Writer) error { _, err := w.Write(content); return err })
		if err != nil {
			return err
		}
	}
	if len(x.Recipients) > 0 {
		return nil
	}
	list := x.ledger.newestFirst(x.Format)
	entries := make([]SiteEntry, len(list))
	for i, f := range list {
		entries[i] = SiteEntry{File: f.Name, Title: f.Title, Start: f.Start, Type: f.Type, RecordedBy: f.RecordedBy,
			Length: time.Duration(f.Seconds) * time.Second}
	}
	return x.write(&exportedFile{Name: "index.html"}, "file:index.html", func(w io.Writer) error { return x.Site.Index(w, entries) })
}

// leave removes the page of somebody who is in no exported meeting any more.
func (x *export) leave(key string, p *exportedPerson) error {
	delete(x.ledger.Persons, key)
	if x.ledger.Files["person:"+key] == nil {
		return nil
	}
	delete(x.ledger.Files, "person:"+key)
	x.result.Removed++
	return durable.Remove(x.path(p.File))
}

func parentOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

// newestFirst lists the exported meetings of a format.
func (l *exportLedger) newestFirst(format ExportFormat) []*exportedFile {
	var list []*exportedFile
	for key, f := range l.Files {
		if strings.HasPrefix(key, string(format)+":") && !f.Sealed {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *exportedFile) int {
		if c := b.Start.Compare(a.Start); c != 0 {
			return c
		}
		return strings.Compare(b.Name, a.Name)
	})
	return list
}

func personPage(w io.Writer, p *exportedPerson, meetings []*exportedFile) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "---\nname: %s\n", quoted(p.Name))
	if p.Email != "" {
		fmt.Fprintf(b, "email: %s\n", quoted(p.Email))
	}
	fmt.Fprintf(b, "---\n\n# %s\n\n", mdText(p.Name))
	for _, f := range meetings {
		meetingLine(b, f, p.File)
	}
	return b.Flush()
}

func markdownIndex(w io.Writer, meetings []*exportedFile) error {
	b := bufio.NewWriter(w)
	b.WriteString("# Meetings\n")
	month := ""
	for _, f := range meetings {
		if m := f.Start.UTC().Format("January 2006"); m != month && f.Start.Unix() > 0 {
			month = m
			fmt.Fprintf(b, "\n## %s\n\n", month)
		}
		meetingLine(b, f, "index.md")
	}
	return b.Flush()
}

func meetingLine(w io.Writer, f *exportedFile, from string) {
	title := f.Title
	if oneLine(title) == "" {
		title = "Untitled"
	}
	day := "undated"
	if f.Start.Unix() > 0 {
		day = f.Start.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(w, "- %s %s\n", day, mdLink(title, from, f.Name))
}
