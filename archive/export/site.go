package export

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"minutebook/internal/civil"
	"minutebook/internal/durable"
)

// Site renders a static site of meetings. It is implemented where the pages are.
type Site interface {
	// Meeting renders the page of a meeting, which is kept at m.File.
	Meeting(w io.Writer, m *Meeting) error
	// Person renders the page of a person, which is kept at p.File.
	Person(w io.Writer, p PersonPage) error
	// Index renders index.html, with all meetings.
	Index(w io.Writer, all List) error
	// Files returns the files that the pages need, such as style sheets, by their
	// path below the export's directory.
	Files() map[string][]byte
}

// writePages writes the files that belong to no single meeting. It reads the
// ledger, so that an export of some meetings keeps the others on the lists.
func (x *run) writePages(ctx context.Context) error {
	person, index, name := personPage, markdownIndex, "index.md"
	if x.Format == HTML {
		person, index, name = x.Site.Person, x.Site.Index, "index.html"
		if err := x.writeAssets(ctx); err != nil {
			return err
		}
	}
	if !x.hasPages() {
		return x.removePages()
	}
	if err := x.renamePages(ctx); err != nil {
		return err
	}
	if err := x.writePeople(ctx, person); err != nil {
		return err
	}
	return x.streamFile(ctx, &file{What: "file:" + name, Format: x.Format, Name: name}, func(w io.Writer) error {
		return x.ledger.readList(x.Format, "", func(all List) error { return index(w, all) })
	})
}

// renamePages gives people the names of the meetings that are listed, and writes the meetings
// again that link to pages with other names. These meetings count as they were.
func (x *run) renamePages(ctx context.Context) error {
	ids, err := x.ledger.renamePeople(x.Format)
	if err != nil {
		return err
	}
	progress, meetings := x.Progress, x.result.Meetings
	x.Progress = nil
	defer func() { x.Progress, x.result.Meetings = progress, meetings }()
	for _, id := range ids {
		row, err := x.archive.Row(ctx, id)
		if err == nil {
			err = x.writeMeeting(ctx, row)
		}
		if err := errors.Join(ctx.Err(), skipForgotten(err)); err != nil {
			return fmt.Errorf("meeting %d: %w", id, err)
		}
	}
	return nil
}

// removePages removes the pages of an earlier export that was not encrypted.
func (x *run) removePages() error {
	if err := x.removeAll(x.ledger.pageFiles(x.Format)); err != nil {
		return err
	}
	return x.ledger.removePeople("")
}

func (x *run) removeAll(files []file, err error) error {
	for _, f := range files {
		err = errors.Join(err, x.remove(f))
	}
	return err
}

// writeAssets writes the files that the pages of a site need. Style sheets hold
// nothing of a meeting, so they are not encrypted.
func (x *run) writeAssets(ctx context.Context) error {
	for name, content := range x.Site.Files() {
		if err := durable.MkdirAll(x.path(path.Dir(name))); err != nil {
			return err
		}
		f := &file{What: "file:" + name, Format: x.Format, Name: name, open: true}
		if err := x.writeFile(ctx, f, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
			return err
		}
	}
	return nil
}

// writePeople writes a page for each person in an exported meeting, and removes the
// pages of other people.
func (x *run) writePeople(ctx context.Context, render func(io.Writer, PersonPage) error) error {
	if err := durable.MkdirAll(x.path("people")); err != nil {
		return err
	}
	if err := x.removeAll(x.ledger.pagesOfNobody(x.Format)); err != nil { // first: somebody else may have the same page now
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
			if err := x.writePerson(ctx, p, render); err != nil {
				return err
			}
			after = p.key
		}
	}
}

// writePerson writes the page of a person, or removes it when the person is in no
// listed meeting.
func (x *run) writePerson(ctx context.Context, p Person, render func(io.Writer, PersonPage) error) error {
	key := "person:" + p.key
	isListed, err := x.ledger.hasMeetings(x.Format, p.key)
	if err != nil {
		return err
	}
	if isListed {
		return x.streamFile(ctx, &file{What: key, Format: x.Format, Name: p.File}, func(w io.Writer) error {
			return x.ledger.readList(x.Format, p.key, func(list List) error { return render(w, PersonPage{p, list}) })
		})
	}
	f, err := x.ledger.findFile(key, x.Format)
	if err != nil {
		return err
	}
	if f != nil {
		if err := x.remove(*f); err != nil {
			return err
		}
	}
	return x.ledger.removePeople(p.key)
}

// personPage writes the Markdown page of a person.
func personPage(w io.Writer, p PersonPage) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "---\nname: %s\n", quoteJSON(p.Name))
	if p.Email != "" {
		fmt.Fprintf(b, "email: %s\n", quoteJSON(p.Email))
	}
	fmt.Fprintf(b, "---\n\n# %s\n\n", mdText(p.Name))
	for e := range p.Meetings {
		meetingLine(b, e, p.File)
	}
	return b.Flush()
}

// markdownIndex writes the Markdown list of all meetings.
func markdownIndex(w io.Writer, all List) error {
	b := bufio.NewWriter(w)
	b.WriteString("# Meetings\n")
	month := ""
	for e := range all.Meetings {
		m := "Undated"
		if civil.IsKnown(e.Start) {
			m = e.Start.UTC().Format("January 2006")
		}
		if m != month {
			month = m
			fmt.Fprintf(b, "\n## %s\n\n", month)
		}
		meetingLine(b, e, "index.md")
	}
	return b.Flush()
}

func meetingLine(w io.Writer, e ListEntry, from string) {
	day := "undated"
	if civil.IsKnown(e.Start) {
		day = e.Start.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(w, "- %s %s\n", day, mdLink(titleOr(e.Title), from, e.File))
}
