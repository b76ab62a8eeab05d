package inbox

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

const checkedAtOnce = 64 // bodies in one query

// A DamagedBody is the body of a delivery that cannot be read back.
type DamagedBody struct {
	ID          int64 // of the delivery
	RecordingID int64 // 0 where it is not known
	State       string
	Stored      []byte // the bytes as they are in the file
	Err         error
}

// CheckBodies reads every kept body and calls found for each damaged one. It returns
// the number of bodies.
func (i *Inbox) CheckBodies(ctx context.Context, found func(DamagedBody)) (checked int, err error) {
	for after := int64(0); ; {
		var damaged []DamagedBody
		n := 0
		err := sqlite.Each(ctx, i.db.R, func(rows *sql.Rows) error {
			var d DamagedBody
			var p packedBody
			if err := rows.Scan(append([]any{&d.ID, &d.RecordingID, &d.State}, p.columns()...)...); err != nil {
				return err
			}
			n++
			after = d.ID
			if _, d.Err = p.unpack(); d.Err != nil {
				d.Stored = p.body
				damaged = append(damaged, d)
			}
			return nil
		}, `SELECT id, recording_id, state`+bodyColumns+` FROM deliveries
			WHERE id > ? AND body IS NOT NULL ORDER BY id LIMIT ?`, after, checkedAtOnce)
		if err != nil {
			return checked, err
		}
		for _, d := range damaged {
			found(d)
		}
		if checked += n; n == 0 {
			return checked, nil
		}
	}
}

// DropBody deletes the body of one applied delivery.
func (i *Inbox) DropBody(ctx context.Context, id int64) error { return i.dropBody(ctx, id, ``) }

// GiveUp deletes the damaged body of a delivery that was not applied, so that nobody waits for
// it any more. Its key is free: sent again, the delivery counts as new.
func (i *Inbox) GiveUp(ctx context.Context, id int64) error {
	return i.dropBody(ctx, id, `, state = 'applied', settled_at = ?2, webhook_id = webhook_id || '.lost-' || id,
		reason = 'its body was damaged, and a repair has put it aside; sent again, it counts as new'`)
}

func (i *Inbox) dropBody(ctx context.Context, id int64, more string) error {
	return i.submit(ctx, &write{size: 64, do: func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, `UPDATE deliveries SET body = NULL`+more+` WHERE id = ?1`, id, toMillis(i.now())); err != nil {
			return fmt.Errorf("drop the body of delivery %d: %w", id, err)
		}
		return nil
	}})
}
