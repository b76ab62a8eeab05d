package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"minutebook/api"
)

// Notes returns a meeting decoded without its transcript, which is most of its
// bytes: for those who read the transcript as Entries or not at all. It fails
// with ErrNotFound or ErrForgotten.
func (a *Archive) Notes(ctx context.Context, id int64) (*api.Meeting, error) {
	m := &api.Meeting{}
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		if err := known(ctx, tx, id); err != nil {
			return err
		}
		parts, err := a.currentParts(ctx, tx, id, api.PartTranscript)
		if err != nil {
			return err
		}
		raw, err := joinMeeting(id, parts)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, m)
	})
	if err != nil {
		return nil, fmt.Errorf("read the notes of %d: %w", id, err)
	}
	return m, nil
}
