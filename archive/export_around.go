package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"minutebook/internal/durable"
)

// Site renders a static site of meetings. It is implemented where the pages are.
type Site interface {
	// Meeting renders the page of a meeting, which is kept at m.File.
	Meeting(w io.Writer, m *ExportedMeeting) error
	// Person renders the page of somebody, which is kept at p.File.
	Person(w io.Writer, p SitePerson) error
	// Index renders index.html, with all meetings.
	Index(w io.Writer, all SiteList) error
	// Files are what the pages need beside them, such as style sheets, by their
	// path below the export's directory.
	Files() map[string][]byte
}

// around writes what belongs to no single meeting. It is made of the ledger, so
// that an export of some meetings does not take the others off the lists.
func (x *export) around(ctx context.Context) error {
	person, index, name := personPage, markdownIndex, "index.md"
	if x.Format == ExportHTML {
		person, index, name = x.Site.Person, x.Site.Index, "index.html"
		if err := x.beside(); err != nil {
			return err
		}
	}
	if !x.lists() {
		return x.unlisted()
	}
	if err := x.people(ctx, person); err != nil {
		return err
	}
	return x.stream(&exportedFile{What: "file:" + name, Format: x.Format, Name: name}, func(w io.Writer) error {
		return x.ledger.list(x.Format, "", func(all SiteList) error { return index(w, all) })
	})
}

// unlisted removes the pages around meetings that an export before this sealed
// one left.
func (x *export) unlisted() error {
	files, err := x.ledger.around(x.Format)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := x.remove(f); err != nil {
			return err
		}
	}
	return x.ledger.leave("")
}

// beside writes what the pages of a site need. Style sheets tell nothing, so
// that they stay readable in a sealed export too.
func (x *export) beside() error {
	for name, content := range x.Site.Files() {
		if err := durable.MkdirAll(x.path(parentOf(name))); err != nil {
			return err
		}
		f := &exportedFile{What: "file:" + name, Format: x.Format, Name: name, open: true}
		if err := x.write(f, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
			return err
		}
	}
	return nil
}

// people writes a page for everybody who is in an exported meeting, and removes
// those of others.
func (x *export) people(ctx context.Context, render func(io.Writer, SitePerson) error) error {
	if err := durable.MkdirAll(x.path("people")); err != nil {
		return err
	}
	for after := ""; ; {
		chunk, err := x.ledger.peopleAfter(after, x.Format)
		if err != nil || len(chunk) == 0 {
			return err
		}
		for _, p := range chunk {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := x.person(p, render); err != nil {
				return err
			}
			after = p.key
		}
	}
}

func (x *export) person(p ExportedPerson, render func(io.Writer, SitePerson) error) error {
	what := "person:" + p.key
	in, err := x.ledger.isIn(x.Format, p.key)
	if err != nil {
		return err
	}
	if in {
		return x.stream(&exportedFile{What: what, Format: x.Format, Name: p.File}, func(w io.Writer) error {
			return x.ledger.list(x.Format, p.key, func(list SiteList) error { return render(w, SitePerson{p, list}) })
		})
	}
	f, err := x.ledger.file(what, x.Format)
	if err != nil {
		return err
	}
	if f != nil {
		if err := x.remove(*f); err != nil {
			return err
		}
	}
	return x.ledger.leave(p.key)
}

func parentOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

func personPage(w io.Writer, p SitePerson) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "---\nname: %s\n", quoted(p.Name))
	if p.Email != "" {
		fmt.Fprintf(b, "email: %s\n", quoted(p.Email))
	}
	fmt.Fprintf(b, "---\n\n# %s\n\n", mdText(p.Name))
	for e := range p.Meetings {
		meetingLine(b, e, p.File)
	}
	return b.Flush()
}

func markdownIndex(w io.Writer, all SiteList) error {
	b := bufio.NewWriter(w)
	b.WriteString("# Meetings\n")
	month := ""
	for e := range all.Meetings {
		if m := e.Start.UTC().Format("January 2006"); m != month && e.Start.Unix() > 0 {
			month = m
			fmt.Fprintf(b, "\n## %s\n\n", month)
		}
		meetingLine(b, e, "index.md")
	}
	return b.Flush()
}

func meetingLine(w io.Writer, e SiteEntry, from string) {
	day := "undated"
	if e.Start.Unix() > 0 {
		day = e.Start.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(w, "- %s %s\n", day, mdLink(titleOr(e.Title), from, e.File))
}
