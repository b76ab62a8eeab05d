package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// AppearanceRole is how somebody appears in a meeting.
type AppearanceRole uint8

// The roles.
const (
	AsRecorder AppearanceRole = 1 << iota
	AsInvitee
	AsSpeaker
	AsAssignee
)

// Appearance is that somebody recorded a meeting, was invited to it, spoke in it or was
// given an action item.
type Appearance struct {
	RecordingID int64
	Role        AppearanceRole
	Name, Email string // Email in lower case
	SpokenAs    string // of an invitee: the speaker's name that the service has matched
	Words       int64  // of a speaker
	Item        AppearanceItem
}

// AppearanceItem is the action item of an assignee, of whom both name and address may be "".
type AppearanceItem struct {
	Position    int
	Offset      time.Duration // -1 when it is not known
	Description string
	Completed   bool
}

// Appearances calls fn with everybody who appears in some meetings, in all where ids is
// nil, in no order. All is of one moment.
func (a *Archive) Appearances(ctx context.Context, ids []int64, fn func(Appearance)) error {
	where, args := "", []any{}
	if ids != nil {
		list, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		where, args = ` WHERE recording_id IN (SELECT value FROM json_each(?))`, []any{string(list)}
	}
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		for _, query := range appearanceQueries {
			err := sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
				p := Appearance{Item: AppearanceItem{Offset: -1}}
				var offset sql.NullFloat64
				err := rows.Scan(&p.RecordingID, &p.Role, &p.Name, &p.Email, &p.SpokenAs, &p.Words,
					&p.Item.Position, &offset, &p.Item.Description, &p.Item.Completed)
				if offset.Valid {
					p.Item.Offset = time.Duration(offset.Float64 * float64(time.Second))
				}
				fn(p)
				return err
			}, query+where, args...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read who appears in meetings: %w", err)
	}
	return nil
}

// appearanceQueries select the columns of Appearance, the recorders and invitees first.
var appearanceQueries = [...]string{
	`SELECT recording_id, 1, recorded_by_name, lower(trim(recorded_by_email)), '', 0, 0, NULL, '', 0 FROM meetings`,
	`SELECT recording_id, 2, name, lower(trim(email)), matched_speaker_display_name, 0, 0, NULL, '', 0 FROM invitees`,
	`SELECT recording_id, 4, name, lower(trim(email)), '', words, 0, NULL, '', 0 FROM meeting_speakers JOIN speakers ON id = speaker_id`,
	`SELECT recording_id, 8, assignee_name, lower(trim(assignee_email)), '', 0, position, offset_seconds, description, completed FROM action_items`,
}

// Lengths calls fn with the length of each of some meetings, of all where ids is nil; 0
// when it is not known.
func (a *Archive) Lengths(ctx context.Context, ids []int64, fn func(id int64, length time.Duration)) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var id, ms int64
		err := rows.Scan(&id, &ms)
		fn(id, time.Duration(ms)*time.Millisecond)
		return err
	}, `SELECT recording_id, max(coalesce(recording_end_time - recording_start_time, 0), 0) FROM meetings
		WHERE ? OR recording_id IN (SELECT value FROM json_each(?))`, ids == nil, string(list))
	if err != nil {
		return fmt.Errorf("read how long meetings are: %w", err)
	}
	return nil
}

// ChangeSpan is a meeting's first and last change in the log.
type ChangeSpan struct{ First, Last int64 }

// ChangeSpans returns the spans of all meetings.
func (a *Archive) ChangeSpans(ctx context.Context) (map[int64]ChangeSpan, error) {
	spans := map[int64]ChangeSpan{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var id int64
		var s ChangeSpan
		err := rows.Scan(&id, &s.First, &s.Last)
		spans[id] = s
		return err
	}, `SELECT recording_id, min(seq), max(seq) FROM changes GROUP BY recording_id`)
	if err != nil {
		return nil, fmt.Errorf("read when meetings came: %w", err)
	}
	return spans, nil
}
