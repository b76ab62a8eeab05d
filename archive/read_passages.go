package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Passage is something that somebody said in a meeting.
type Passage struct {
	RecordingID int64
	Title       string
	Start       time.Time // of the meeting
	Position    int       // of the entry in the transcript
	Offset      time.Duration
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
		err := rows.Scan(&p.RecordingID, &p.Title, &start, &entry, &offset, &p.Text, &longest)
		p.Start, p.Position, p.Offset = sqlite.Time(start), int(entry&0xfffff), time.Duration(offset*float64(time.Second))
		return err
	}, `WITH names AS (SELECT lower(value) AS name FROM json_each(?1, '$[1]')),
		said AS (SELECT m.recording_id, m.number, m.sort_at, coalesce(nullif(m.title, ''), m.meeting_title) AS title, s.id AS speaker
			FROM meetings m JOIN meeting_speakers USING (recording_id) JOIN speakers s ON s.id = speaker_id
			WHERE m.recording_id IN (SELECT value FROM json_each(?1, '$[0]')) AND (lower(s.email) IN (SELECT name FROM names) OR lower(s.name) IN (SELECT name FROM names)
				OR s.email = '' AND s.name IN (SELECT i.matched_speaker_display_name FROM invitees i
					WHERE i.recording_id = m.recording_id AND lower(trim(i.email)) IN (SELECT name FROM names))))
		SELECT recording_id, title, sort_at, e.id, e.offset_seconds, e.text, max(length(e.text))
			FROM said JOIN entries e ON e.id BETWEEN number << 20 AND (number << 20) + 0xfffff AND e.speaker_id = speaker
			GROUP BY recording_id ORDER BY sort_at DESC, recording_id DESC`, string(wanted))
	if err != nil {
		return nil, fmt.Errorf("read passages: %w", err)
	}
	return passages, nil
}
