package archive

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// Key is a place in the order of List: newest first by (Start, RecordingID).
// Start is the recording's start, else the scheduled one, else the creation.
type Key struct {
	Start       time.Time
	RecordingID int64
}

// String writes the place as [ParseKey] reads it.
func (k Key) String() string { return fmt.Sprintf("%d-%d", k.Start.UnixMilli(), k.RecordingID) }

// ParseKey reads a place. The milliseconds of one before 1970 begin with a minus sign.
func ParseKey(text string) (Key, error) {
	at := max(strings.LastIndex(text, "-"), 0)
	ms, err := strconv.ParseInt(text[:at], 10, 64)
	id, err2 := strconv.ParseInt(strings.TrimPrefix(text[at:], "-"), 10, 64)
	if err = cmp.Or(err, err2); err != nil {
		return Key{}, fmt.Errorf("read the place %q in a list: %w", text, err)
	}
	return Key{time.UnixMilli(ms).UTC(), id}, nil
}

// ListQuery selects meetings. Zero fields do not restrict.
type ListQuery struct {
	Viewer        Viewer
	After, Before time.Time // exclusive, on the order's Start; no meeting without a date
	Type          string    // name of a meeting type
	Team          string    // the recorder's team
	RecordedBy    string    // the recorder's email
	Person        string    // email, or name, of a recorder, invitee or speaker
	SamePerson    []string  // further emails and names of the same person
	Cursor        *Key      // list the meetings after it
	Limit         int       // at most; 0 means all
	IncludeGone   bool
	Among         []int64 // only of these meetings; nil means of all. A viewer who sees few of many is answered sooner.
}

// List returns meetings, newest first.
func (a *Archive) List(ctx context.Context, q ListQuery) ([]*Row, error) {
	where, args, err := a.listTerms(ctx, q)
	if err != nil {
		return nil, err
	}
	query := `SELECT ` + rowColumns + ` FROM meetings m`
	if len(where) > 0 {
		query += ` WHERE ` + strings.Join(where, " AND ")
	}
	query += ` ORDER BY m.sort_at DESC, m.recording_id DESC`
	if q.Limit > 0 {
		query += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	var list []*Row
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		r, err := scanRow(rows.Scan)
		list = append(list, r)
		return err
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list meetings: %w", err)
	}
	return list, nil
}

// listTerms returns the terms of WHERE and their arguments.
func (a *Archive) listTerms(ctx context.Context, q ListQuery) (where []string, args []any, err error) {
	add := func(term string, values ...any) {
		where = append(where, term)
		args = append(args, values...)
	}
	if !q.IncludeGone {
		add(`m.gone_at IS NULL`)
	}
	if !q.After.IsZero() {
		add(`m.sort_at > ?`, q.After.UnixMilli())
	}
	if !q.Before.IsZero() {
		add(`m.sort_at < ?`, q.Before.UnixMilli())
	}
	if !q.After.IsZero() || !q.Before.IsZero() {
		add(`m.sort_at <> 0`) // its time is known
	}
	if q.Type != "" {
		add(`m.meeting_type = ?`, q.Type)
	}
	if q.Team != "" {
		add(`m.recorded_by_team = ?`, q.Team)
	}
	if q.RecordedBy != "" {
		add(`m.recorded_by_email = ?`, q.RecordedBy)
	}
	if q.Person != "" {
		names, err := json.Marshal(append(slices.Clone(q.SamePerson), q.Person))
		if err != nil {
			return nil, nil, err
		}
		add(personTerm, slices.Repeat([]any{string(names)}, 6)...)
	}
	if q.Among != nil {
		ids, err := json.Marshal(q.Among)
		if err != nil {
			return nil, nil, err
		}
		add(`m.recording_id IN (SELECT value FROM json_each(?))`, string(ids))
	}
	if q.Cursor != nil {
		add(`(m.sort_at, m.recording_id) < (?, ?)`, q.Cursor.Start.UnixMilli(), q.Cursor.RecordingID)
	}
	term, values, err := a.visibleTerm(ctx, q.Viewer)
	if err != nil {
		return nil, nil, err
	}
	if term != "" {
		add(term, values...)
	}
	return where, args, nil
}

const personTerm = `(m.recorded_by_email IN ` + listed + ` OR m.recorded_by_name IN ` + listed + `
	OR m.recording_id IN (SELECT recording_id FROM invitees WHERE email IN ` + listed + ` OR name IN ` + listed + `)
	OR m.recording_id IN (SELECT recording_id FROM meeting_speakers
		WHERE speaker_id IN (SELECT id FROM speakers WHERE email IN ` + listed + ` OR name IN ` + listed + `)))`

const listed = `(SELECT value FROM json_each(?))`
