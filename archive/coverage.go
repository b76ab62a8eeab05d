package archive

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// Coverage is how much is kept of what one account sees.
type Coverage struct {
	Meetings       int `json:"meetings"` // known
	WithTranscript int `json:"with_transcript"`
	WithSummary    int `json:"with_summary"`
	WithRecording  int `json:"with_recording"`
	RecordingsToDo int `json:"recordings_to_do"` // in the queue, and not given up
}

// Coverage counts, for each account, the meetings that some list shows it, and
// those that its webhooks brought and no list has shown to anybody yet. A meeting
// that several accounts see counts for each of them.
func (a *Archive) Coverage(ctx context.Context) (map[string]Coverage, error) {
	rows, err := a.db.R.QueryContext(ctx, `WITH seen AS (
			SELECT account, recording_id FROM sightings WHERE gone_at IS NULL
			UNION SELECT o.account, m.recording_id FROM meetings m
				JOIN revisions r ON r.recording_id = m.recording_id JOIN observations o ON o.revision_id = r.id
				WHERE o.source = 'webhook' AND NOT EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = m.recording_id))
		SELECT seen.account, count(*), sum(m.has_transcript), sum(m.has_summary), sum(m.has_video OR m.has_audio),
			count(d.recording_id)
		FROM seen JOIN meetings m ON m.recording_id = seen.recording_id
		LEFT JOIN downloads d ON d.recording_id = seen.recording_id AND d.state IN ('wanted', 'requested', 'ready')
		GROUP BY seen.account`)
	if err != nil {
		return nil, fmt.Errorf("count what accounts see: %w", err)
	}
	all := map[string]Coverage{}
	err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var account string
		var c Coverage
		err := rows.Scan(&account, &c.Meetings, &c.WithTranscript, &c.WithSummary, &c.WithRecording, &c.RecordingsToDo)
		all[account] = c
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what accounts see: %w", err)
	}
	return all, nil
}
