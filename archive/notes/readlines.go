package notes

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/internal/sqlite"
)

// Imported counts the lines of an import.
type Imported struct {
	Read    int // lines
	New     int // rows that were added
	Skipped int // about a meeting, or names of meetings, that the archive does not have
	Unknown int // private notes and saved searches, and notes of people who may come, whose author is not known here
	Wrong   []WrongLine
}

// WrongLine is a line that was left out, and why.
type WrongLine struct {
	Line int   // from 1
	Err  error // ErrLine; of a saved search also ErrExists or ErrMany
}

const maxLine = 16 << 20 // bytes

// ReadLines imports the lines of [DB.WriteLines]. It adds no row twice. A note or saved search
// whose author is not known here is left out: it would be the owner's, whom nobody is where
// people sign in, and the author would not find it once added. Where everybody reads it, it
// counts that it is there: a shared note of somebody who was removed, a tick and a judgement
// become the owner's. Each line is durable once it is counted.
func (d *DB) ReadLines(ctx context.Context, r io.Reader, authors Authors) (Imported, error) {
	var sum Imported
	defer d.dropCaches()
	x := &lineReader{DB: d, authors: authors}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	for number := 1; scanner.Scan(); number++ {
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		sum.Read++
		added, err := x.readLine(ctx, text)
		switch {
		case errors.Is(err, errAuthor):
			sum.Unknown++
		case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrForgotten):
			sum.Skipped++
		case errors.Is(err, ErrLine), errors.Is(err, ErrExists), errors.Is(err, ErrMany):
			sum.Wrong = append(sum.Wrong, WrongLine{number, err})
		case err != nil:
			return sum, fmt.Errorf("import notes: line %d: %w", number, err)
		case added:
			sum.New++
		}
	}
	if err := scanner.Err(); err != nil {
		return sum, fmt.Errorf("import notes: %w", err)
	}
	return sum, nil
}

// ErrLine is a line that is not of an export.
var ErrLine = errors.New("this line is not of an export of notes")

// errAuthor is a line that would come to other people than before.
var errAuthor = errors.New("the author is not known here")

// lineReader takes lines in.
type lineReader struct {
	*DB
	authors   Authors
	head      archive.Position // of the archive, when forgotten was read
	forgotten []int64          // meetings, when appear was read
	appear    map[string]bool  // the folded names of meetings; nil: not read

	known    map[string]bool // the judgements, by their keys; nil: not read
	judged   int             // judgements, and the number of the last one, when known was read or added to
	judgedAt int64
}

// readLine takes a line in and reports whether it added a row.
func (x *lineReader) readLine(ctx context.Context, text []byte) (added bool, err error) {
	var l line
	if json.Unmarshal(text, &l) != nil {
		return false, ErrLine
	}
	person := func(author string) (id int64, known bool) {
		if author == "" || strings.HasPrefix(author, Removed) || x.authors.Person == nil {
			return Owner, author == ""
		}
		id, err = x.authors.Person(ctx, author)
		return id, id != Owner
	}
	if l.Note != nil {
		l.Note.RecordingID, _, err = x.archive.ImportedID(ctx, l.Note.RecordingID)
	} else if l.Tick != nil {
		l.Tick.RecordingID, _, err = x.archive.ImportedID(ctx, l.Tick.RecordingID)
	}
	if err != nil {
		return false, err
	}
	switch {
	case l.Note != nil && !canBeWritten(l.Note.CreatedAt, l.Note.ChangedAt), l.Tick != nil && !canBeWritten(l.Tick.TickedAt),
		l.Person != nil && !canBeWritten(l.Person.JudgedAt):
		return false, ErrLine
	case l.Note != nil:
		n := Note{RecordingID: l.Note.RecordingID, At: fromSeconds(l.Note.Seconds), Text: l.Note.Text, Private: l.Note.Private,
			CreatedAt: l.Note.CreatedAt, ChangedAt: l.Note.ChangedAt}
		var known bool
		n.Person, known = person(l.Note.Author)
		switch isRemoved := strings.HasPrefix(l.Note.Author, Removed); {
		case err != nil:
			return false, err
		case !known && (n.Private || !isRemoved):
			return false, cmp.Or(x.checkMeeting(ctx, n.RecordingID), errAuthor)
		}
		return x.readNote(ctx, n, !known)
	case l.Tick != nil:
		t := Tick{Item: Item{l.Tick.RecordingID, fromSeconds(l.Tick.Seconds), l.Tick.Text}, TickedAt: l.Tick.TickedAt}
		t.Person, _ = person(l.Tick.Author)
		return x.readTick(ctx, t, err)
	case l.Person != nil:
		j := Judgement{Same: l.Person.Same, Names: l.Person.Names, JudgedAt: l.Person.JudgedAt}
		j.Person, _ = person(l.Person.Author)
		return x.readJudgement(ctx, j, err)
	case l.Saved != nil:
		person, known := person(l.Saved.Author)
		if err == nil && !known {
			return false, errAuthor
		}
		if err == nil {
			_, added, err = x.save(ctx, person, l.Saved.Name, l.Saved.Query)
		}
		if errors.Is(err, ErrSearch) {
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

// readNote adds a note unless it is there: its author's, or anybody's whom all read.
func (d *DB) readNote(ctx context.Context, n Note, anybody bool) (added bool, err error) {
	if n.Text, err = cleanText(n.Text); err != nil {
		return false, ErrLine
	}
	err = d.write(ctx, "add a note", func(tx *sql.Tx) error {
		same, err := sqlite.Column[int64](ctx, tx, `SELECT id FROM notes WHERE recording_id = ? AND at = ? AND text = ? AND (person = ? OR ? AND NOT private)`,
			n.RecordingID, toMillis(n.At), n.Text, n.Person, anybody)
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

func (x *lineReader) readJudgement(ctx context.Context, j Judgement, err error) (added bool, _ error) {
	if err != nil {
		return false, err
	}
	if j.Names, err = cleanNames(j.Names); err != nil {
		return false, ErrLine
	}
	err = x.write(ctx, "merge persons", func(tx *sql.Tx) error {
		if err := x.dropForgotten(ctx, &j); err != nil {
			return err
		}
		if err := x.readKnown(ctx, tx); err != nil || x.known[keyOf(j)] {
			return err
		}
		added = true
		if err := insertJudgement(ctx, tx, &j); err != nil {
			return err
		}
		x.known[keyOf(j)], x.judged, x.judgedAt = true, x.judged+1, j.ID
		return nil
	})
	return added, err
}

// keyOf returns a text that only judgements of the same names have.
func keyOf(j Judgement) string { return fmt.Sprintf("%t %q", j.Same, j.Names) }

// readKnown reads the judgements where others have changed since the last line.
func (x *lineReader) readKnown(ctx context.Context, tx *sql.Tx) error {
	var n int
	var last int64
	err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(max(id), 0) FROM judgements`).Scan(&n, &last)
	if err != nil || x.known != nil && n == x.judged && last == x.judgedAt {
		return err
	}
	all, err := x.Judgements(ctx)
	if err != nil {
		return err
	}
	x.known, x.judged, x.judgedAt = make(map[string]bool, len(all)), n, last
	for _, j := range all {
		x.known[keyOf(j)] = true
	}
	return nil
}

// dropForgotten takes the names out of a judgement that no meeting has, where a meeting was
// forgotten that may have had them: an export may be older. It fails with
// [archive.ErrForgotten] where fewer than two are left. It is called within a write
// transaction: a meeting that is forgotten later erases the names itself.
func (x *lineReader) dropForgotten(ctx context.Context, j *Judgement) error {
	head, err := x.archive.Head(ctx)
	if err != nil {
		return err
	}
	if head != x.head { // a meeting may have been forgotten since the last line
		forgotten, _, err := x.archive.Tombstones(ctx)
		if err == nil && !slices.Equal(forgotten, x.forgotten) {
			x.appear, err = x.namesThere(ctx)
		}
		if err != nil {
			return err
		}
		x.head, x.forgotten = head, forgotten
	}
	if len(x.forgotten) == 0 {
		return nil
	}
	j.Names = slices.DeleteFunc(j.Names, func(name string) bool { return !x.appear[Fold(name)] })
	if len(j.Names) < 2 {
		return archive.ErrForgotten
	}
	return nil
}
