package archive

import (
	"context"
	"fmt"

	"minutebook/api"
)

// FromService tells whether a meeting's current part was ever shown by the
// service itself, and not only by an imported file.
func (a *Archive) FromService(ctx context.Context, id int64, part api.Part) (bool, error) {
	var shown bool
	err := a.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM parts p JOIN observations o USING (revision_id)
		WHERE p.recording_id = ? AND p.part = ? AND o.source <> ?)`, id, part, SourceImport).Scan(&shown)
	if err != nil {
		return false, fmt.Errorf("read sources of %d: %w", id, err)
	}
	return shown, nil
}
