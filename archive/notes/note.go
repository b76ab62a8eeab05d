package notes

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"minutebook/archive"

	"minutebook/internal/sqlite"
)

// Note is a person's remark on a moment of a meeting, or on the meeting.
type Note struct {
	ID                   int64
	RecordingID          int64
	At                   time.Duration // into the recording; -1: about the whole meeting
	Text                 string
	Private              bool  // only its author reads it
	Person               int64 // the author
	CreatedAt, ChangedAt time.Time
}

const noteColumns = `id, recording_id, at, text, private, person, created_at, changed_at`

func scanNote(rows *sql.Rows, n *Note) error {
	var at, created, changed int64
	err := rows.Scan(&n.ID, &n.RecordingID, &at, &n.Text, &n.Private, &n.Person, &created, &changed)
	n.At, n.CreatedAt, n.ChangedAt = fromMillis(at), sqlite.Time(created), sqlite.Time(changed)
	return err
}

// readableTerm is the condition on notes n that a person reads: the shared ones and the
// person's own.
const readableTerm = `(n.private = 0 OR n.person = ?)`

// Add adds a note of n.Person to a meeting and returns it with its id and times. A note
// that is there already, such as one whose author saw no answer, is not added again. It
// fails with ErrText, and with [archive.ErrNotFound] or [archive.ErrForgotten] when the
// archive does not have the meeting.
func (d *DB) Add(ctx context.Context, n Note) (Note, error) {
	var err error
	if n.Text, err = cleanText(n.Text); err != nil {
		return n, err
	}
	n.At = fromMillis(toMillis(n.At))
	n.CreatedAt = sqlite.Time(d.now().UnixMilli())
	n.ChangedAt = n.CreatedAt
	err = d.write(ctx, "add a note", func(tx *sql.Tx) error {
		same, err := sqlite.List(ctx, tx, scanNote, `SELECT `+noteColumns+` FROM notes WHERE recording_id = ? AND person = ? AND at = ? AND text = ? AND private = ?`,
			n.RecordingID, n.Person, toMillis(n.At), n.Text, n.Private)
		if err != nil {
			return err
		}
		if len(same) > 0 {
			n = same[0]
			return nil
		}
		return d.insert(ctx, tx, &n)
	})
	return n, err
}

// insert adds a note in a transaction and sets its id.
func (d *DB) insert(ctx context.Context, tx *sql.Tx, n *Note) error {
	if err := d.checkMeeting(ctx, n.RecordingID); err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO notes (recording_id, at, text, private, person, created_at, changed_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		n.RecordingID, toMillis(n.At), n.Text, n.Private, n.Person, n.CreatedAt.UnixMilli(), n.ChangedAt.UnixMilli())
	if err != nil {
		return err
	}
	n.ID, err = result.LastInsertId()
	return err
}

// Change changes the text of a person's own note and who reads it. It fails with
// [archive.ErrNotFound] for a note that is not the person's, and with ErrChanged where the
// note was last changed at another time than seen; a zero seen takes any. A note that says
// so already is left alone, since its author may have seen no answer.
func (d *DB) Change(ctx context.Context, person, id int64, text string, private bool, seen time.Time) error {
	text, err := cleanText(text)
	if err != nil {
		return err
	}
	return d.write(ctx, "change a note", func(tx *sql.Tx) error {
		was, err := ownNote(ctx, tx, person, id)
		if err != nil {
			return err
		}
		if was.Text == text && was.Private == private {
			return nil
		}
		if err := checkSeen(seen, was.ChangedAt); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE notes SET text = ?, private = ?, changed_at = ? WHERE id = ?`,
			text, private, d.timeAfter(was.ChangedAt), id)
		return err
	})
}

// Delete deletes a person's own note. It fails as Change does.
func (d *DB) Delete(ctx context.Context, person, id int64, seen time.Time) error {
	return d.write(ctx, "delete a note", func(tx *sql.Tx) error {
		was, err := ownNote(ctx, tx, person, id)
		if err == nil {
			err = checkSeen(seen, was.ChangedAt)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM notes WHERE id = ?`, id)
		}
		return err
	})
}

// ownNote returns a person's own note in a transaction, or fails with [archive.ErrNotFound].
func ownNote(ctx context.Context, tx *sql.Tx, person, id int64) (Note, error) {
	found, err := sqlite.List(ctx, tx, scanNote, `SELECT `+noteColumns+` FROM notes WHERE id = ? AND person = ?`, id, person)
	if err == nil && len(found) == 0 {
		err = archive.ErrNotFound
	}
	if err != nil {
		return Note{}, err
	}
	return found[0], nil
}

// checkSeen fails with ErrChanged where something was last changed at another time than a
// person has seen; a zero seen takes any.
func checkSeen(seen, changed time.Time) error {
	if !seen.IsZero() && seen.UnixMilli() != changed.UnixMilli() {
		return ErrChanged
	}
	return nil
}

// timeAfter returns the time of a change, in milliseconds: each change has one of its own.
func (d *DB) timeAfter(last time.Time) int64 {
	return max(d.now().UnixMilli(), last.UnixMilli()+1)
}

// Note returns a note that a person reads, or fails with [archive.ErrNotFound]. Whether
// the person sees its meeting is the caller's to ask.
func (d *DB) Note(ctx context.Context, person, id int64) (Note, error) {
	return d.findNote(ctx, `n.id = ? AND `+readableTerm, id, person)
}

// ForMeeting returns the notes on a meeting that a person reads, by moment: those on the
// whole meeting first.
func (d *DB) ForMeeting(ctx context.Context, person, recordingID int64) ([]Note, error) {
	return d.list(ctx, `n.recording_id = ? AND `+readableTerm+` ORDER BY n.at, n.id`, recordingID, person)
}

// EachText calls fn for each note that a person reads, with its meeting, its moment, -1 for one
// about the whole meeting, and its text, or unless only is 0 for those of that meeting. Whether the
// person sees the meetings is the caller's to ask.
func (d *DB) EachText(ctx context.Context, person, only int64, fn func(id int64, at time.Duration, text string)) error {
	where, args := readableTerm, []any{person}
	if only != 0 {
		where, args = where+` AND n.recording_id = ?`, append(args, only)
	}
	err := sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
		var id, at int64
		var text string
		err := rows.Scan(&id, &at, &text)
		if err == nil {
			fn(id, fromMillis(at), text)
		}
		return err
	}, `SELECT n.recording_id, n.at, n.text FROM notes n WHERE `+where, args...)
	if err != nil {
		return fmt.Errorf("read notes: %w", err)
	}
	return nil
}

// list returns the notes of a condition.
func (d *DB) list(ctx context.Context, where string, args ...any) ([]Note, error) {
	notes, err := sqlite.List(ctx, d.db.R, scanNote, `SELECT `+noteColumns+` FROM notes n WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return notes, nil
}

// findNote returns the note of a condition.
func (d *DB) findNote(ctx context.Context, where string, args ...any) (Note, error) {
	notes, err := d.list(ctx, where, args...)
	if err != nil {
		return Note{}, err
	}
	if len(notes) == 0 {
		return Note{}, fmt.Errorf("read a note: %w", archive.ErrNotFound)
	}
	return notes[0], nil
}

// cleanText returns a text as it is kept. It fails with ErrText for one that is empty or
// too long.
func cleanText(text string) (string, error) {
	text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\ufffd"))
	if n := utf8.RuneCountInString(text); n == 0 || n > maxText {
		return "", ErrText
	}
	return text, nil
}
