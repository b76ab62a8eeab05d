package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"minutebook/internal/sqlite"
)

// FileName is the name of the file in an export.
const FileName = "notes.ndjson"

// Removed begins the author of a line who was removed, or is not known any more. No address
// begins so: whoever has the person's address now is somebody else.
const Removed = "removed: "

// Authors translates the ids of people, which mean nothing in another archive, to
// addresses and back. Address begins with Removed for a person who has left; Person returns
// Owner for an unknown address. Both are safe for concurrent use.
type Authors struct {
	Address func(ctx context.Context, person int64) (string, error)
	Person  func(ctx context.Context, address string) (int64, error)
}

// line is one line of an export: one of the fields is set.
type line struct {
	Note   *noteLine   `json:"note,omitempty"`
	Tick   *tickLine   `json:"tick,omitempty"`
	Person *personLine `json:"person,omitempty"`
	Saved  *savedLine  `json:"saved_search,omitempty"`
}

// noteLine is a note.
type noteLine struct {
	RecordingID int64     `json:"recording_id"`
	Seconds     *float64  `json:"seconds"` // null: about the whole meeting
	Text        string    `json:"text"`
	Private     bool      `json:"private"`
	Author      string    `json:"author,omitempty"` // an address; "" is the owner, see also Removed
	CreatedAt   time.Time `json:"created_at"`
	ChangedAt   time.Time `json:"changed_at"`
}

// tickLine is an action item that was done here.
type tickLine struct {
	RecordingID int64     `json:"recording_id"`
	Seconds     *float64  `json:"seconds"` // null: unknown
	Text        string    `json:"text"`
	Author      string    `json:"author,omitempty"`
	TickedAt    time.Time `json:"ticked_at"`
}

// personLine is a judgement.
type personLine struct {
	Names    []string  `json:"names"`
	Same     bool      `json:"same"`
	Author   string    `json:"author,omitempty"`
	JudgedAt time.Time `json:"judged_at"`
}

// savedLine is a saved search, without its secrets.
type savedLine struct {
	Name      string    `json:"name"`
	Query     string    `json:"query"`
	Author    string    `json:"author,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// WriteLines writes everything that can be read back as JSON lines, private notes too,
// in an order that stays the same: the rows about some meetings, all with nil, and, with
// persons, the merged people and saved searches too. Secrets, and up to where somebody has looked, are left out, and so are the rows about
// meetings that are being forgotten.
func (d *DB) WriteLines(ctx context.Context, w io.Writer, ids []int64, persons bool, authors Authors) error {
	x := lineWriter{ctx: ctx, out: json.NewEncoder(w), authors: authors, addresses: map[int64]string{}}
	x.out.SetEscapeHTML(false)
	err := d.writeMeetings(&x, ids)
	if err == nil && persons {
		err = d.writePersons(&x)
	}
	if err != nil {
		return fmt.Errorf("export notes: %w", err)
	}
	return nil
}

// writeMeetings writes the rows about meetings.
func (d *DB) writeMeetings(x *lineWriter, ids []int64) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	notes, err := sqlite.List(x.ctx, d.db.R, scanNote, `SELECT `+noteColumns+` FROM notes
		WHERE ? OR recording_id IN (SELECT value FROM json_each(?)) ORDER BY recording_id, at, id`, ids == nil, string(list))
	if err != nil {
		return err
	}
	ticks, err := d.Ticks(x.ctx, ids)
	if err != nil {
		return err
	}
	forgotten, _, err := d.archive.Tombstones(x.ctx) // after the rows, which are erased later than the meeting
	if err != nil {
		return err
	}
	for _, n := range notes {
		if _, is := slices.BinarySearch(forgotten, n.RecordingID); is {
			continue
		}
		x.write(n.Person, func(author string) line {
			return line{Note: &noteLine{n.RecordingID, toSeconds(n.At), n.Text, n.Private, author, n.CreatedAt, n.ChangedAt}}
		})
	}
	for _, t := range sortTicks(ticks) {
		if _, is := slices.BinarySearch(forgotten, t.RecordingID); is {
			continue
		}
		x.write(t.Person, func(author string) line {
			return line{Tick: &tickLine{t.RecordingID, toSeconds(t.At), t.Text, author, t.TickedAt}}
		})
	}
	return x.err
}

// writePersons writes the rows about no meeting.
func (d *DB) writePersons(x *lineWriter) error {
	judgements, err := d.Judgements(x.ctx)
	if err != nil {
		return err
	}
	for _, j := range judgements {
		x.write(j.Person, func(author string) line { return line{Person: &personLine{j.Names, j.Same, author, j.JudgedAt}} })
	}
	saved, err := d.listSaved(x.ctx, `true ORDER BY person, name`)
	if err != nil {
		return err
	}
	for _, s := range saved {
		x.write(s.Person, func(author string) line { return line{Saved: &savedLine{s.Name, s.Query, author, s.CreatedAt}} })
	}
	return x.err
}

// HavePersons reports whether lines of an export have rows about no meeting.
func HavePersons(lines []byte) bool {
	for text := range bytes.Lines(lines) {
		var l line
		if json.Unmarshal(text, &l) == nil && (l.Person != nil || l.Saved != nil) {
			return true
		}
	}
	return false
}

// lineWriter writes lines and remembers the first error.
type lineWriter struct {
	ctx       context.Context
	out       *json.Encoder
	authors   Authors
	addresses map[int64]string
	err       error
}

// write writes the line of a person.
func (x *lineWriter) write(person int64, make func(author string) line) {
	if x.err != nil {
		return
	}
	address, ok := x.addresses[person]
	if !ok && person != Owner && x.authors.Address != nil {
		address, x.err = x.authors.Address(x.ctx, person)
		x.addresses[person] = address
	}
	if x.err == nil {
		x.err = x.out.Encode(make(address))
	}
}

func sortTicks(ticks map[Item]Tick) []Tick {
	sorted := make([]Tick, 0, len(ticks))
	for _, t := range ticks {
		sorted = append(sorted, t)
	}
	slices.SortFunc(sorted, func(a, b Tick) int { return compareItems(a.Item, b.Item) })
	return sorted
}

// toSeconds returns an offset as exports have it.
func toSeconds(at time.Duration) *float64 {
	if at < 0 {
		return nil
	}
	seconds := at.Seconds()
	return &seconds
}

// fromSeconds is the reverse of toSeconds.
func fromSeconds(seconds *float64) time.Duration {
	if seconds == nil || !(*seconds >= 0 && *seconds < 1e9) {
		return -1
	}
	return time.Duration(*seconds * float64(time.Second)).Round(time.Millisecond)
}
