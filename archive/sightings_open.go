package archive

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// Sighting is a list query of an account that shows a meeting.
type Sighting struct{ Account, Query string }

// OpenSightings returns the queries that show a meeting now.
func (a *Archive) OpenSightings(ctx context.Context, id int64) (list []Sighting, err error) {
	rows, err := a.db.R.QueryContext(ctx, `SELECT account, query FROM sightings WHERE recording_id = ? AND gone_at IS NULL ORDER BY 1, 2`, id)
	if err == nil {
		err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
			var s Sighting
			err := rows.Scan(&s.Account, &s.Query)
			list = append(list, s)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read who is shown %d: %w", id, err)
	}
	return list, nil
}
