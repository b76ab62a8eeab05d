package export

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"minutebook/archive/notes"
)

// Added holds the additions of people to a meeting, for all who see it.
type Added struct {
	Notes []Remark
	Ticks map[notes.Item]notes.Tick // action items that were done here
}

// Remark is a note and its author.
type Remark struct {
	notes.Note
	Author string // an address; "" for the owner
}

// readAdded reads the additions that everyone who sees a meeting may read.
func (x *run) readAdded(ctx context.Context, id int64) (added Added, err error) {
	if added.Ticks, err = x.Notes.Ticks(ctx, []int64{id}); err != nil {
		return added, err
	}
	all, err := x.Notes.ForMeeting(ctx, notes.Owner, id)
	for _, n := range all {
		if n.Private {
			continue
		}
		r := Remark{Note: n}
		if n.Person != notes.Owner && x.Authors.Address != nil {
			if r.Author, err = x.Authors.Address(ctx, n.Person); err != nil {
				return added, err
			}
		}
		added.Notes = append(added.Notes, r)
	}
	return added, err
}

// mergePeople makes one of the persons whom somebody has merged, with the name and address
// that stand first.
func (x *run) mergePeople(ctx context.Context, people []Person) ([]Person, error) {
	groups, err := x.Notes.Groups(ctx)
	if err != nil {
		return nil, err
	}
	var merged []Person
	for _, p := range people {
		names := groups.Same(cmp.Or(p.Email, p.Name))
		if len(names) > 1 {
			p.Name, p.Email = mergedName(names, p)
			p, _ = personOf(p.Name, p.Email)
		}
		if !slices.ContainsFunc(merged, func(q Person) bool { return q.key == p.key }) {
			merged = append(merged, p)
		}
	}
	return merged, nil
}

// mergedName returns the first name and the first address of a merged person; the name of
// the appearance where there are addresses alone.
func mergedName(names []string, p Person) (name, email string) {
	for _, n := range names {
		switch isAddress := strings.Contains(n, "@"); {
		case isAddress && email == "":
			email = n
		case !isAddress && name == "":
			name = n
		}
	}
	return cmp.Or(name, p.Name), email
}

// isDone tells whether an action item was done, here or at the service.
func (a Added) isDone(id int64, at time.Duration, text string, completed bool) bool {
	_, ticked := a.Ticks[notes.NewItem(id, at, text)]
	return completed || ticked
}

// writeNotes writes everything that people have added, private notes too, as JSON lines
// that an import reads. Where there is nothing it writes no file.
func (x *run) writeNotes(ctx context.Context) error {
	var content bytes.Buffer
	if err := x.Notes.WriteLines(ctx, &content, x.IDs, x.Authors); err != nil {
		return err
	}
	f := &file{What: "file:" + notes.FileName, Format: x.Format, Name: notes.FileName}
	last, err := x.ledger.findFile(f.What, f.Format)
	if err != nil || content.Len() == 0 && last == nil {
		return err
	}
	if len(x.Recipients) > 0 {
		f.Name += ".age"
	}
	return x.writeFile(ctx, f, func(w io.Writer) error {
		_, err := w.Write(content.Bytes())
		return err
	})
}
