package archive

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// checkDeliveries reads every kept body of a delivery. A damaged body cannot be
// restored. The content of an applied one is in the archive, so a repair drops the
// body.
func (c *check) checkDeliveries(ctx context.Context, o VerifyOptions, found func(Damage)) error {
	inbox := c.archive.inbox
	for after := int64(0); ; {
		rows, err := inbox.db.R.QueryContext(ctx, `SELECT id, recording_id, state`+bodyColumns+` FROM deliveries
			WHERE id > ? AND body IS NOT NULL ORDER BY id LIMIT ?`, after, verifyChunk)
		if err != nil {
			return err
		}
		var damages []Damage
		var applied []int64
		var bodies [][]byte
		n := 0
		err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
			var id, recording int64
			var state string
			var p packedBody
			if err := rows.Scan(append([]any{&id, &recording, &state}, p.columns()...)...); err != nil {
				return err
			}
			n++
			after = id
			if _, err := p.unpack(); err != nil {
				damages = append(damages, Damage{Class: DamageDelivery, Path: inbox.db.Path, RecordingID: recording,
					What: fmt.Sprintf("the body of delivery %d, %s, cannot be read back: %v", id, state, err)})
				bodies = append(bodies, p.body)
				if state == StateApplied {
					applied = append(applied, id)
				} else {
					applied = append(applied, 0)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for i, d := range damages {
			if o.Repair && applied[i] != 0 {
				c.repair(&d, o, func() (err error) {
					if d.Aside, err = c.archive.putAside(fmt.Sprintf("%d-delivery-%d", d.RecordingID, applied[i]), bodies[i]); err != nil {
						return err
					}
					d.Outcome = "let go: what it brought is in the archive"
					return inbox.dropBody(ctx, applied[i])
				})
			}
			found(d)
		}
		if n == 0 {
			return nil
		}
		c.sum.Deliveries += n
	}
}

// dropBody deletes the body of one applied delivery.
func (i *Inbox) dropBody(ctx context.Context, id int64) error {
	return i.submit(ctx, &write{size: 64, do: func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, `UPDATE deliveries SET body = NULL WHERE id = ?`, id); err != nil {
			return fmt.Errorf("let go of the body of delivery %d: %w", id, err)
		}
		return nil
	}})
}
