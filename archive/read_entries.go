package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/api"
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
	entries, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, e *Entry) error {
		var seconds float64
		if err := rows.Scan(&e.Index, &seconds, &e.Speaker, &e.Email, &e.Text); err != nil {
			return err
		}
		e.Offset = time.Duration(seconds*1000+0.5) * time.Millisecond
		return nil
	}, `SELECT e.id & 0xfffff, e.offset_seconds, s.name, s.email, e.text
		FROM meetings m JOIN entries e ON e.id >= (m.number << 20) + ?2 AND e.id < (m.number << 20) + ?3
		JOIN speakers s ON s.id = e.speaker_id
		WHERE m.recording_id = ?1 ORDER BY e.id`, id, max(from, 0), to)
	if err != nil {
		return nil, fmt.Errorf("read transcript of %d: %w", id, err)
	}
	return entries, nil
}

// Notes returns a meeting decoded without its transcript, which is most of its
// bytes: for those who read the transcript as Entries or not at all. It fails
// with ErrNotFound or ErrForgotten.
func (a *Archive) Notes(ctx context.Context, id int64) (*api.Meeting, error) {
	return a.NotesFor(ctx, Viewer{All: true}, id)
}

// NotesFor is Notes with the CRM matches that the viewer sees. It does not ask whether
// the viewer sees the meeting.
func (a *Archive) NotesFor(ctx context.Context, v Viewer, id int64) (*api.Meeting, error) {
	var parts map[api.Part]json.RawMessage
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) (err error) {
		if err = known(ctx, tx, id); err == nil {
			parts, err = a.currentParts(ctx, tx, id, api.PartTranscript)
		}
		return err
	})
	if err == nil {
		err = a.keepOwnCRM(ctx, v, id, parts)
	}
	m := &api.Meeting{}
	if err == nil {
		err = decodeParts(id, parts, m)
	}
	if err != nil {
		return nil, fmt.Errorf("read the notes of %d: %w", id, err)
	}
	return m, nil
}

func decodeParts(id int64, parts map[api.Part]json.RawMessage, m *api.Meeting) error {
	raw, err := joinMeeting(id, parts)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, m)
}
