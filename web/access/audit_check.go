package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Prune deletes the events that are older than keep at a time, and keeps the place and the
// hash of the last one as the anchor of the rest. It deletes nothing when keep is 0
// or less. Rows go from the oldest on, up to the first that is young enough, so
// that the chain stays whole where a clock was set back.
func (d *DB) Prune(ctx context.Context, now time.Time, keep time.Duration) (pruned int64, err error) {
	if keep <= 0 {
		return 0, nil
	}
	err = d.db.WriteTx(ctx, func(tx *sql.Tx) error {
		var last int64
		var hash []byte
		err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM audit
			WHERE seq < coalesce((SELECT min(seq) FROM audit WHERE at >= ?), 1 << 62) ORDER BY seq DESC LIMIT 1`, now.Add(-keep).UnixMilli()).Scan(&last, &hash)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find audit rows to prune: %w", err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO audit_anchor (one, seq, hash, at) VALUES (1, ?, ?, ?)
			ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at`, last, hash, now.UnixMilli())
		if err != nil {
			return fmt.Errorf("write audit anchor: %w", err)
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM audit WHERE seq <= ?`, last)
		if err == nil {
			pruned, err = done.RowsAffected()
		}
		if err != nil {
			return fmt.Errorf("prune audit: %w", err)
		}
		return nil
	})
	return pruned, err
}

// CheckAudit reads the whole chain and returns a sentence for each break in it: a
// row that was changed, removed or put in by other means than this package.
func (d *DB) CheckAudit(ctx context.Context) (breaks []string, err error) {
	err = d.db.ReadTx(ctx, func(tx *sql.Tx) error {
		chain := auditChain{hash: make([]byte, sha256.Size)}
		err := tx.QueryRowContext(ctx, `SELECT seq, hash FROM audit_anchor`).Scan(&chain.seq, &chain.hash)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("read audit anchor: %w", err)
		}
		rows, err := tx.QueryContext(ctx, `SELECT seq, at, actor, kind, ids, previous, hash FROM audit ORDER BY seq`)
		if err == nil {
			err = sqlite.EachRow(rows, chain.checkRow)
		}
		if err != nil {
			return fmt.Errorf("read audit: %w", err)
		}
		var last int64
		err = tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'audit'`).Scan(&last)
		if err != nil {
			return fmt.Errorf("read the end of the audit: %w", err)
		}
		if breaks = chain.breaks; last != chain.seq {
			breaks = append(breaks, fmt.Sprintf("the audit ends at row %d, and row %d was written", chain.seq, last))
		}
		return nil
	})
	return breaks, err
}

// auditChain follows the chain from one row to the next.
type auditChain struct {
	seq    int64
	hash   []byte
	breaks []string
}

func (c *auditChain) checkRow(rows *sql.Rows) error {
	var r auditRow
	if err := rows.Scan(&r.seq, &r.at, &r.actor, &r.kind, &r.ids, &r.previous, &r.hash); err != nil {
		return err
	}
	switch {
	case r.seq != c.seq+1:
		c.breaks = append(c.breaks, fmt.Sprintf("audit row %d follows row %d", r.seq, c.seq))
	case !bytes.Equal(r.previous, c.hash):
		c.breaks = append(c.breaks, fmt.Sprintf("audit row %d does not name the hash of the row before", r.seq))
	case !bytes.Equal(r.hash, r.computeHash()):
		c.breaks = append(c.breaks, fmt.Sprintf("audit row %d was changed", r.seq))
	}
	c.seq, c.hash = r.seq, r.hash
	return nil
}
