package years

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/control"
	"minutebook/web/access"
)

// personalNote is a note that a person wrote here.
type personalNote struct {
	meeting int64
	author  string // address that the person keeps
	text    string
	private bool
}

// person returns the number of a person in the archive, which is added where it is not known.
func (h *house) person(kept string) (int64, error) {
	p := h.w.org.person(kept)
	here, err := h.find(p)
	if !errors.Is(err, access.ErrNotFound) {
		return here.ID, err
	}
	q := control.UserRequest{Address: p.at()}
	if p.address != "" {
		q.Name = p.first
	}
	if h.elder != nil { // exports name people by their main addresses
		if known, err := h.elder.find(p); err == nil {
			q.Address = known.Addresses[0]
		}
	}
	if _, err := command[control.Invited](context.Background(), h, "user.add", q, nil); err != nil {
		return 0, err
	}
	here, err = h.find(p)
	return here.ID, err
}

// find finds a person by one of the addresses.
func (h *house) find(p *person) (here access.Person, err error) {
	for _, address := range p.addresses() {
		here, err = h.access.PersonByAddress(context.Background(), address)
		if !errors.Is(err, access.ErrNotFound) {
			break
		}
	}
	return here, err
}

// writeNote has a person add a note to a meeting, or change or delete one.
func (w *world) writeNote(g *rand.Rand) {
	h, o := w.house, w.oracle
	m, author := w.anyMeeting(g, false), w.org.people[g.IntN(len(w.org.people))].email
	if h == nil || h.dead.Load() || h.isSick() || m == nil {
		return
	}
	o.noted++
	n, done := o.noted, "adds"
	note := personalNote{m.id, author, fmt.Sprintf("%s note %d", token(m.id), n), g.IntN(2) == 0}
	if known := slices.Sorted(maps.Keys(o.notes)); len(known) > 0 && g.IntN(2) == 0 {
		n = known[g.IntN(len(known))]
		if note, done = o.notes[n], "deletes"; g.IntN(2) == 0 {
			note.text, done = note.text+" again", "changes"
		}
	}
	if _, isBegun := w.forgetting[note.meeting]; isBegun { // its notes may be gone already
		return
	}
	err := w.keepNote(note, o.notes[n].text, done)
	if h.dead.Load() || errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrForgotten) {
		return // nothing was committed
	}
	w.must(err, "keep a note")
	w.journal.note("%s %s a note on %d", note.author, done, note.meeting)
	if o.notes[n] = note; done == "deletes" {
		delete(o.notes, n)
	}
}

// keepNote adds a note, or changes or deletes the one with the former text.
func (w *world) keepNote(n personalNote, former, done string) error {
	h, ctx := w.house, context.Background()
	person, err := h.person(n.author)
	if err != nil {
		return err
	}
	if done == "adds" {
		_, err := h.notes.Add(ctx, notes.Note{RecordingID: n.meeting, At: -1, Text: n.text, Person: person, Private: n.private})
		return err
	}
	list, err := h.notes.ForMeeting(ctx, person, n.meeting)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(k notes.Note) bool { return k.Text == former })
	switch {
	case i < 0:
		return fmt.Errorf("the note %q is gone", former)
	case done == "deletes":
		return h.notes.Delete(ctx, person, list[i].ID, list[i].ChangedAt)
	}
	return h.notes.Change(ctx, person, list[i].ID, n.text, n.private, list[i].ChangedAt)
}

// checkExportedNotes compares the notes in an archive that has read an export with those that
// were written. Their authors are known there, since nobody else's notes are read.
func (w *world) checkExportedNotes(h *house, content map[int64]map[string]string) {
	for _, n := range w.oracle.notes {
		person, err := h.person(n.author)
		w.must(err, "find a person")
		list, err := h.notes.ForMeeting(context.Background(), person, n.meeting)
		w.must(err, "read notes")
		if content[n.meeting] != nil && !slices.ContainsFunc(list, func(k notes.Note) bool { return k.Text == n.text && k.Private == n.private }) {
			w.fail("the export lacks the note %q on %d", n.text, n.meeting)
		}
	}
}

// checkNotes compares the notes that each person reads: the own ones and those for all.
func (w *world) checkNotes() {
	want := map[string]bool{} // "ADDRESS on MEETING: TEXT"
	for _, n := range w.oracle.notes {
		for _, p := range w.org.people {
			if n.author == p.email || !n.private {
				want[fmt.Sprintf("%s on %d: %s", p.email, n.meeting, n.text)] = true
			}
		}
	}
	ctx, have := context.Background(), map[string]bool{}
	for _, p := range w.org.people {
		person, err := w.house.find(p)
		if errors.Is(err, access.ErrNotFound) {
			person.ID = -1 // nobody's
		} else {
			w.must(err, "find a person")
		}
		for _, m := range w.org.meetings {
			list, err := w.house.notes.ForMeeting(ctx, person.ID, m.id)
			w.must(err, "read notes")
			for _, n := range list {
				have[fmt.Sprintf("%s on %d: %s", p.email, m.id, n.Text)] = true
			}
		}
	}
	if !maps.Equal(want, have) {
		w.fail("there are the notes %v, and %v were written", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)))
	}
}
