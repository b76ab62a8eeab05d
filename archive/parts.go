package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// PartsOf returns a meeting's current parts, verbatim. A part that was only ever
// null is null, one that was never shown is absent. It fails with ErrNotFound or
// ErrForgotten.
func (a *Archive) PartsOf(ctx context.Context, id int64) (map[api.Part]json.RawMessage, error) {
	var parts map[api.Part]json.RawMessage
	err := a.db.ReadTx(ctx, func(tx *sql.Tx) (err error) {
		if err := known(ctx, tx, id); err != nil {
			return err
		}
		parts, err = a.currentParts(ctx, tx, id, "")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read parts of %d: %w", id, err)
	}
	return parts, nil
}

// currentParts reads the parts of a meeting but for the one to leave out, if
// any.
func (a *Archive) currentParts(ctx context.Context, tx *sql.Tx, id int64, without api.Part) (map[api.Part]json.RawMessage, error) {
	rows, err := tx.QueryContext(ctx, `SELECT p.part, p.folded IS NOT NULL, b.encoding, b.body
		FROM parts p LEFT JOIN bodies b ON b.revision_id = p.revision_id WHERE p.recording_id = ? AND p.part <> ?`, id, without)
	if err != nil {
		return nil, err
	}
	parts := make(map[api.Part]json.RawMessage, 6)
	several := false
	err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var part api.Part
		var isFolded bool
		var encoding sql.NullInt64
		var body []byte
		if err := rows.Scan(&part, &isFolded, &encoding, &body); err != nil {
			return err
		}
		several = several || isFolded
		if !encoding.Valid {
			parts[part] = json.RawMessage("null")
			return nil
		}
		raw, err := a.codec.unpack(int(encoding.Int64), body)
		parts[part] = raw
		return err
	})
	if err != nil || !several {
		return parts, err
	}
	t := newApplying(a, sqlite.NewStatements(ctx, tx))
	editions, err := t.editions(id)
	if err != nil {
		return nil, err
	}
	parts[api.PartMeeting] = fold(editions).raw
	return parts, nil
}

// MeetingJSON returns a meeting in the service's shape with all its parts, every
// value verbatim. It fails with ErrNotFound or ErrForgotten.
func (a *Archive) MeetingJSON(ctx context.Context, id int64) ([]byte, error) {
	parts, err := a.PartsOf(ctx, id)
	if err != nil {
		return nil, err
	}
	raw, err := joinMeeting(id, parts)
	if err != nil {
		return nil, fmt.Errorf("read meeting %d: %w", id, err)
	}
	return raw, nil
}

// joinMeeting joins parts; a meeting known by its content alone still has its
// recording_id.
func joinMeeting(id int64, parts map[api.Part]json.RawMessage) ([]byte, error) {
	if raw, ok := parts[api.PartMeeting]; !ok || string(raw) == "null" {
		parts[api.PartMeeting] = fmt.Appendf(nil, `{"recording_id":%d}`, id)
	}
	return api.JoinMeeting(parts)
}

// Meeting returns a meeting decoded, with all its parts. It fails with
// ErrNotFound or ErrForgotten.
func (a *Archive) Meeting(ctx context.Context, id int64) (*api.Meeting, error) {
	raw, err := a.MeetingJSON(ctx, id)
	if err != nil {
		return nil, err
	}
	m := &api.Meeting{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("read meeting %d: %w", id, err)
	}
	return m, nil
}
