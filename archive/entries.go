package archive

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Entry is one utterance of a transcript.
type Entry struct {
	Index          int           // from 0
	Offset         time.Duration // from the recording's start
	Speaker, Email string        // Email is "" for a speaker matched to no invitee
	Text           string
}

// Entries returns the entries of a transcript from index from up to, not with,
// to; a negative to means all. A meeting without a transcript, or not known,
// has none.
func (a *Archive) Entries(ctx context.Context, id int64, from, to int) ([]Entry, error) {
	if to < 0 || to > maxEntries {
		to = maxEntries
	}
	rows, err := a.db.R.QueryContext(ctx, `SELECT e.id & 0xfffff, e.offset_seconds, s.name, s.email, e.text
		FROM meetings m JOIN entries e ON e.id >= (m.number << 20) + ?2 AND e.id < (m.number << 20) + ?3
		JOIN speakers s ON s.id = e.speaker_id
		WHERE m.recording_id = ?1 ORDER BY e.id`, id, max(from, 0), to)
	if err != nil {
		return nil, fmt.Errorf("read transcript of %d: %w", id, err)
	}
	var entries []Entry
	err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var e Entry
		var seconds float64
		if err := rows.Scan(&e.Index, &seconds, &e.Speaker, &e.Email, &e.Text); err != nil {
			return err
		}
		e.Offset = time.Duration(seconds*1000+0.5) * time.Millisecond
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read transcript of %d: %w", id, err)
	}
	return entries, nil
}
