package archive

import (
	"context"
	"fmt"
)

// recoverSpill looks, when the inbox is opened, at every spilled body. After a
// loss of power rows can be there whose bodies never came to the disk: nobody
// was answered for them, and they go, so that a repeat is taken for the first
// one. One that was applied stays as known, without its body. It runs before
// anything is written.
func (i *Inbox) recoverSpill(ctx context.Context) error {
	var after spillRef
	for {
		list, err := readSpilled(ctx, i.db.W, after, i.spill.number)
		if err != nil {
			return err
		}
		for _, r := range list {
			after = r.at
			if r.gone {
				continue
			}
			packed, err := i.spill.read(r.at)
			if err == nil && checksumOf(packed) == r.checksum {
				continue
			}
			i.log.Error().Int64("delivery", r.id).Str("state", r.state).
				Msg("a delivery's body is not whole: the machine lost power before its sender was answered, or the disk is damaged; the delivery is taken again when it is sent again")
			query := `DELETE FROM deliveries WHERE id = ?`
			if r.state == StateApplied {
				query = `UPDATE deliveries SET body = NULL, header = '' WHERE id = ?`
			}
			if _, err := i.db.W.ExecContext(ctx, query, r.id); err != nil {
				return fmt.Errorf("drop delivery %d, whose body is not whole: %w", r.id, err)
			}
		}
		if len(list) == 0 {
			return nil
		}
	}
}
