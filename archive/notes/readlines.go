package notes

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// Imported counts the lines of an import.
type Imported struct {
	Read    int   // lines
	New     int   // rows that were added
	Skipped int   // about a meeting that the archive does not have
	Wrong   []int // lines from 1 that are not of an export
}

const maxLine = 16 << 20 // bytes

// ReadLines imports the lines of [DB.WriteLines]. It adds no row twice.
// The author of a line whose address is not known here becomes the owner. Each line is
// durable once it is counted.
func (d *DB) ReadLines(ctx context.Context, r io.Reader, authors Authors) (Imported, error) {
	var sum Imported
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	for number := 1; scanner.Scan(); number++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		sum.Read++
		added, err := d.readLine(ctx, text, authors)
		switch {
		case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrForgotten):
			sum.Skipped++
		case errors.Is(err, ErrLine):
			sum.Wrong = append(sum.Wrong, number)
		case err != nil:
			return sum, fmt.Errorf("import notes: line %d: %w", number, err)
		case added:
			sum.New++
		}
	}
	d.dropCaches()
	if err := scanner.Err(); err != nil {
		return sum, fmt.Errorf("import notes: %w", err)
	}
	return sum, nil
}

// ErrLine is a line that is not of an export.
var ErrLine = errors.New("this line is not of an export of notes")

// readLine takes a line in and reports whether it added a row.
func (d *DB) readLine(ctx context.Context, text []byte, authors Authors) (added bool, err error) {
	var l line
	if json.Unmarshal(text, &l) != nil {
		return false, ErrLine
	}
	person := func(address string) int64 {
		if address == "" || authors.Person == nil || err != nil {
			return Owner
		}
		var id int64
		id, err = authors.Person(ctx, address)
		return id
	}
	switch {
	case l.Note != nil && !canBeWritten(l.Note.CreatedAt, l.Note.ChangedAt), l.Tick != nil && !canBeWritten(l.Tick.TickedAt),
		l.Person != nil && !canBeWritten(l.Person.JudgedAt):
		return false, ErrLine
	case l.Note != nil:
		n := Note{RecordingID: l.Note.RecordingID, At: fromSeconds(l.Note.Seconds), Text: l.Note.Text, Private: l.Note.Private,
			Person: person(l.Note.Author), CreatedAt: l.Note.CreatedAt, ChangedAt: l.Note.ChangedAt}
		return d.readNote(ctx, n, err)
	case l.Tick != nil:
		t := Tick{Item{l.Tick.RecordingID, fromSeconds(l.Tick.Seconds), l.Tick.Text}, person(l.Tick.Author), l.Tick.TickedAt}
		return d.readTick(ctx, t, err)
	case l.Person != nil:
		j := Judgement{Same: l.Person.Same, Names: l.Person.Names, Person: person(l.Person.Author), JudgedAt: l.Person.JudgedAt}
		return d.readJudgement(ctx, j, err)
	case l.Saved != nil:
		if person := person(l.Saved.Author); err == nil {
			_, added, err = d.save(ctx, person, l.Saved.Name, l.Saved.Query)
		}
		switch {
		case errors.Is(err, ErrExists):
			return false, nil
		case errors.Is(err, ErrSearch), errors.Is(err, ErrMany):
			return false, ErrLine
		}
		return added, err
	}
	return false, ErrLine
}

// canBeWritten reports whether JSON can have times in UTC: 9999-12-31T23:59:59-12:00 is of the
// year 10000 there, and no export would be whole any more.
func canBeWritten(times ...time.Time) bool {
	return !slices.ContainsFunc(times, func(t time.Time) bool { return t.UTC().Year() < 0 || t.UTC().Year() > 9999 })
}

func (d *DB) readNote(ctx context.Context, n Note, err error) (added bool, _ error) {
	if err != nil {
		return false, err
	}
	if n.Text, err = cleanText(n.Text); err != nil {
		return false, ErrLine
	}
	err = d.write(ctx, "add a note", func(tx *sql.Tx) error {
		same, err := sqlite.Column[int64](ctx, tx, `SELECT id FROM notes WHERE recording_id = ? AND at = ? AND text = ? AND person = ?`,
			n.RecordingID, toMillis(n.At), n.Text, n.Person)
		if err != nil || len(same) > 0 {
			return err
		}
		added = true
		return d.insert(ctx, tx, &n)
	})
	return added, err
}

func (d *DB) readTick(ctx context.Context, t Tick, err error) (added bool, _ error) {
	if err != nil {
		return false, err
	}
	err = d.write(ctx, "tick an action item off", func(tx *sql.Tx) error {
		added, err = d.insertTick(ctx, tx, t)
		return err
	})
	return added, err
}

func (d *DB) readJudgement(ctx context.Context, j Judgement, err error) (added bool, _ error) {
	if err != nil {
		return false, err
	}
	if j.Names, err = cleanNames(j.Names); err != nil {
		return false, ErrLine
	}
	known, err := d.Judgements(ctx)
	if err != nil || slices.ContainsFunc(known, func(k Judgement) bool { return k.Same == j.Same && slices.Equal(k.Names, j.Names) }) {
		return false, err
	}
	return true, d.write(ctx, "merge persons", func(tx *sql.Tx) error { return insertJudgement(ctx, tx, &j) })
}
