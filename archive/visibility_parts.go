package archive

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// PartsOfMany returns some of the current parts of several meetings, verbatim
// and of one moment, as PartsOf does for one: what a page of a list needs, and
// no more is unpacked. A meeting that is not there has no entry.
func (a *Archive) PartsOfMany(ctx context.Context, ids []int64, parts []api.Part) (map[int64]map[api.Part]json.RawMessage, error) {
	wantIDs, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	wantParts, err := json.Marshal(parts)
	if err != nil {
		return nil, err
	}
	many := make(map[int64]map[api.Part]json.RawMessage, len(ids))
	err = a.db.ReadTx(ctx, func(tx *sql.Tx) error {
		folded, err := a.readMany(ctx, tx, many, string(wantIDs), string(wantParts))
		if err != nil {
			return err
		}
		for _, id := range folded {
			t := newApplying(a, sqlite.NewStatements(ctx, tx))
			editions, err := t.editions(id)
			if err != nil {
				return err
			}
			many[id][api.PartMeeting] = fold(editions).raw
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read parts of %d meetings: %w", len(ids), err)
	}
	return many, nil
}

// readMany fills many and returns whose part "meeting" is folded of several
// revisions.
func (a *Archive) readMany(ctx context.Context, tx *sql.Tx, many map[int64]map[api.Part]json.RawMessage, ids, parts string) (folded []int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT p.recording_id, p.part, p.folded IS NOT NULL, b.encoding, b.body
		FROM parts p LEFT JOIN bodies b ON b.revision_id = p.revision_id
		WHERE p.recording_id IN (SELECT value FROM json_each(?)) AND p.part IN (SELECT value FROM json_each(?))`, ids, parts)
	if err != nil {
		return nil, err
	}
	return folded, sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var id int64
		var part api.Part
		var several bool
		var encoding sql.NullInt64
		var body sql.RawBytes
		if err := rows.Scan(&id, &part, &several, &encoding, &body); err != nil {
			return err
		}
		if many[id] == nil {
			many[id] = make(map[api.Part]json.RawMessage, 6)
		}
		if several {
			folded = append(folded, id)
		}
		if !encoding.Valid {
			many[id][part] = json.RawMessage("null")
			return nil
		}
		if encoding.Int64 == plainBody {
			many[id][part] = bytes.Clone(body)
			return nil
		}
		raw, err := a.codec.unpack(int(encoding.Int64), body)
		many[id][part] = raw
		return err
	})
}
