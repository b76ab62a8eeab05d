package archive

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// PersonCount is somebody who recorded meetings, was invited to them or spoke in them.
type PersonCount struct {
	Name     string // one of the person's names
	Email    string // lower case; "" for who is known by name alone
	Meetings int
}

// Key returns the person's place in the order of People.
func (p PersonCount) Key() string { return cmp.Or(p.Email, p.Name) }

// People returns up to limit persons of the meetings that a viewer sees, in the order of
// their keys, and after one of them.
func (a *Archive) People(ctx context.Context, v Viewer, after string, limit int) ([]PersonCount, error) {
	term, args, err := a.visibleTerm(ctx, v)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	people, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, p *PersonCount) error {
		return rows.Scan(&p.Name, &p.Email, &p.Meetings)
	}, `WITH seen AS (SELECT m.recording_id, m.recorded_by_name, m.recorded_by_email FROM meetings m WHERE `+cmp.Or(term, "1")+`),
		appears AS (SELECT recording_id, recorded_by_name AS name, lower(recorded_by_email) AS email FROM seen
			UNION SELECT recording_id, coalesce(i.name, ''), lower(coalesce(i.email, '')) FROM invitees i JOIN seen USING (recording_id)
			UNION SELECT recording_id, s.name, lower(s.email) FROM meeting_speakers t JOIN seen USING (recording_id) JOIN speakers s ON s.id = t.speaker_id)
		SELECT max(name), max(email), count(DISTINCT recording_id) FROM appears
		WHERE coalesce(nullif(email, ''), name) > ? GROUP BY coalesce(nullif(email, ''), name)
		ORDER BY coalesce(nullif(email, ''), name) LIMIT ?`, append(args, after, limit)...)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	return people, nil
}
