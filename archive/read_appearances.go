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
	Name, Email string // as the meeting has them
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
	`SELECT recording_id, 1, recorded_by_name, recorded_by_email, '', 0, 0, NULL, '', 0 FROM meetings`,
	`SELECT recording_id, 2, name, email, matched_speaker_display_name, 0, 0, NULL, '', 0 FROM invitees`,
	`SELECT recording_id, 4, name, email, '', words, 0, NULL, '', 0 FROM meeting_speakers JOIN speakers ON id = speaker_id`,
	`SELECT recording_id, 8, assignee_name, assignee_email, '', 0, position, offset_seconds, description, completed FROM action_items`,
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

// ChangeSpan is a meeting's first and last change in the log, and the last that is none of
// CRM matches, which not everybody sees who sees the meeting.
type ChangeSpan struct{ First, Last, LastShown int64 }

// ChangeSpans returns the spans of all meetings.
func (a *Archive) ChangeSpans(ctx context.Context) (map[int64]ChangeSpan, error) {
	spans := map[int64]ChangeSpan{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var id int64
		var s ChangeSpan
		err := rows.Scan(&id, &s.First, &s.Last, &s.LastShown)
		spans[id] = s
		return err
	}, `SELECT recording_id, min(seq), max(seq), max(CASE WHEN part = ? THEN 0 ELSE seq END) FROM changes GROUP BY recording_id`, api.PartCRM)
	if err != nil {
		return nil, fmt.Errorf("read when meetings came: %w", err)
	}
	return spans, nil
}

// Passage is something that somebody said in a meeting.
type Passage struct {
	RecordingID int64
	Title       string
	Start       time.Time // of the meeting
	Position    int       // of the entry in the transcript
	Offset      time.Duration
	Speaker     string // as the transcript names them
	Text        string
}

// LongestPassages returns the longest entry of somebody in each of some meetings where
// there is one, the newest meeting first. The speaker has one of the names or addresses,
// or is matched to an invitee with one. It does not ask who sees the meetings.
func (a *Archive) LongestPassages(ctx context.Context, ids []int64, names []string) ([]Passage, error) {
	wanted, err := json.Marshal([]any{ids, names})
	if err != nil {
		return nil, err
	}
	passages, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, p *Passage) error {
		var start, entry, longest int64
		var offset float64
		err := rows.Scan(&p.RecordingID, &p.Title, &start, &entry, &offset, &p.Speaker, &p.Text, &longest)
		p.Start, p.Position, p.Offset = sqlite.Time(start), int(entry&0xfffff), time.Duration(offset*float64(time.Second))
		return err
	}, `WITH names AS (SELECT lower(value) AS name FROM json_each(?1, '$[1]')),
		said AS (SELECT m.recording_id, m.number, m.sort_at, coalesce(nullif(m.title, ''), m.meeting_title) AS title, s.id AS speaker, s.name
			FROM meetings m JOIN meeting_speakers USING (recording_id) JOIN speakers s ON s.id = speaker_id
			WHERE m.recording_id IN (SELECT value FROM json_each(?1, '$[0]')) AND (lower(s.email) IN (SELECT name FROM names) OR lower(s.name) IN (SELECT name FROM names)
				OR s.email = '' AND s.name IN (SELECT i.matched_speaker_display_name FROM invitees i
					WHERE i.recording_id = m.recording_id AND lower(trim(i.email)) IN (SELECT name FROM names))))
		SELECT recording_id, title, sort_at, e.id, e.offset_seconds, said.name, e.text, max(length(e.text))
			FROM said JOIN entries e ON e.id BETWEEN number << 20 AND (number << 20) + 0xfffff AND e.speaker_id = speaker
			GROUP BY recording_id ORDER BY sort_at DESC, recording_id DESC`, string(wanted))
	if err != nil {
		return nil, fmt.Errorf("read passages: %w", err)
	}
	return passages, nil
}
