package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
)

// recoverSpill looks, when the inbox is opened, at every spilled body. After a
// loss of power rows can be there whose bodies never came to the disk. Nobody was
// answered for them; they are set aside, so that a repeat is taken for the first
// one. It runs before anything is written, and fails when a body cannot be read
// for another reason.
func (i *Inbox) recoverSpill(ctx context.Context) error {
	var after spillRef
	for {
		list, err := readSpilled(ctx, i.db.W, after, math.MaxInt64)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			after = r.at
			if r.gone {
				continue
			}
			packed, err := i.spill.read(r.at)
			if err != nil && !lost(err) {
				return fmt.Errorf("%w; with the file moved away its deliveries are set aside", err)
			}
			if err == nil && checksumOf(packed) == r.checksum {
				continue
			}
			if err := i.setAside(ctx, i.db.W, r); err != nil {
				return err
			}
		}
	}
}

// execer is a connection, a transaction or a pool.
type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

// setAside gives up a delivery whose body is not whole. Its key is free again:
// its sender may not have been answered. The row stays in quarantine under
// another, for a person to see; one that was applied stays as known.
func (i *Inbox) setAside(ctx context.Context, db execer, r spilled) error {
	i.log.Error().Int64("delivery", r.id).Str("state", r.state).
		Msg("a delivery's body is not whole: power was lost before its sender was answered, or the disk is damaged")
	const known = `UPDATE deliveries SET body = NULL, header = '', spill = 0, spill_at = 0, spill_size = 0 WHERE id = ?1`
	const anew = `UPDATE deliveries SET body = X'', encoding = 0, checksum = ?2, spill = 0, spill_at = 0, spill_size = 0,
		state = 'quarantined', settled_at = ?3, webhook_id = webhook_id || '.lost-' || id,
		reason = 'its body was lost with the power or the disk; sent again, it is taken as new; sync reads the meeting again' WHERE id = ?1`
	query, args := anew, []any{r.id, checksumOf(nil), inboxTime(i.now())}
	if r.state == StateApplied {
		query, args = known, args[:1]
	}
	if _, err := db.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("set aside delivery %d, whose body is not whole: %w", r.id, err)
	}
	return nil
}

// openSpilled opens the folder of spilled bodies and looks at what is in it.
func (i *Inbox) openSpilled(ctx context.Context, dir string) (err error) {
	var used int64
	if err := i.db.W.QueryRowContext(ctx, `SELECT coalesce(max(spill), 0) FROM deliveries WHERE spill <> 0`).Scan(&used); err != nil {
		return fmt.Errorf("look for spilled bodies: %w", err)
	}
	if i.spill, err = openSpill(dir, used); err != nil {
		return err
	}
	if i.spill.number > 0 {
		i.hasSpilled()
	}
	return errors.Join(i.recoverSpill(ctx), i.walFile.sync())
}
