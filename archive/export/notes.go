package export

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"minutebook/api"
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
	Author string // an address or name; "" for the owner
}

// Add adds the shared notes and the ticks of people to the meeting, and makes one of
// the persons whom somebody has merged. author names who wrote a note, nil nobody; same returns
// all names of the person with one of them, as [notes.Groups.Same].
func (m *Meeting) Add(ctx context.Context, db *notes.DB, author func(context.Context, int64) (string, error), same func(string) []string) (err error) {
	m.People = mergePeople(m.People, same)
	id := m.Row.RecordingID
	if m.Added.Ticks, err = db.Ticks(ctx, []int64{id}); err != nil {
		return err
	}
	all, err := db.ForMeeting(ctx, notes.Owner, id)
	for _, n := range all {
		if n.Private {
			continue
		}
		r := Remark{Note: n}
		if n.Person != notes.Owner && author != nil {
			if r.Author, err = author(ctx, n.Person); err != nil {
				return err
			}
		}
		m.Added.Notes = append(m.Added.Notes, r)
	}
	return err
}

// mergePeople makes one of the persons who have the same names, with the name and address that
// stand first.
func mergePeople(people []Person, same func(string) []string) []Person {
	var merged []Person
	for _, p := range people {
		names := same(cmp.Or(p.Email, p.Name))
		if len(names) > 1 {
			p.Name, p.Email = mergedName(names, p)
			p, _ = personOf(p.Name, p.Email)
		}
		if !slices.ContainsFunc(merged, func(q Person) bool { return q.key == p.key }) {
			merged = append(merged, p)
		}
	}
	return merged
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

// checkItem returns when an action item was agreed, -1 where that is not known, and x when it
// was done, here or at the service.
func (m *Meeting) checkItem(item api.ActionItem) (at time.Duration, mark rune) {
	at, err := api.ParseOffset(item.RecordingTimestamp)
	if err != nil {
		at = -1
	}
	_, done := m.Added.Ticks[notes.NewItem(m.Row.RecordingID, at, item.Description)]
	if done || item.Completed {
		return at, 'x'
	}
	return at, ' '
}

// noteIDs returns the meetings whose notes are exported, nil for all: those of this export and
// those that the directory has from others. The rows about no meeting (persons) are of exports
// of everything: somebody who gets the meetings of a query does not get everybody's searches, unless
// the directory has them.
func (x *run) noteIDs() (ids []int64, persons bool, err error) {
	if x.IDs == nil {
		return nil, true, x.ledger.setWhole(x.Format, true)
	}
	if x.Format == NDJSON { // whose file of all meetings is replaced; JSON adds files
		err = x.ledger.setWhole(NDJSON, false)
	}
	if err == nil {
		ids, err = x.ledger.readableMeetings()
	}
	if err == nil {
		persons, err = x.ledger.isWhole()
	}
	return append(slices.Concat([]int64{}, x.IDs), ids...), persons, err
}

// writeNotes writes everything that people have added, private notes too, as JSON lines
// that an import reads. Where there is nothing it writes no file. The formats JSON and NDJSON
// share the file.
func (x *run) writeNotes(ctx context.Context) error {
	var content bytes.Buffer
	ids, persons, err := x.noteIDs()
	if err != nil {
		return err
	}
	if err := x.Notes.WriteLines(ctx, &content, ids, persons, x.Authors); err != nil {
		return err
	}
	f := &file{What: "file:" + notes.FileName, Format: NDJSON, Name: notes.FileName}
	// An earlier version had a row for each format, and either may be out of date.
	former, err := x.ledger.findFile(f.What, JSON)
	if err == nil && former != nil {
		if err = removeFile(x.path(former.Name)); err == nil {
			err = x.ledger.erase(f.What, JSON)
		}
	}
	if err != nil {
		return err
	}
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
