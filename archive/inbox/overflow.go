package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"minutebook/internal/sqlite"
)

// Earlier versions appended the bodies that came during a burst to overflow files
// in the folder inbox.db-spill, and the columns spill, spill_at and spill_size of
// a row say where. Nothing writes such files any more: opening an inbox moves the
// bodies into their rows, once, and removes the folder.

// overflowBytes bounds the bodies that one transaction moves.
const overflowBytes = 8 << 20

// overflowRow is a row whose body is in an overflow file.
type overflowRow struct {
	id             int64
	hasBody        bool // false: dropped meanwhile
	state          string
	encoding       int
	checksum       int64
	file, at, size int64
}

// importOverflow moves every body of an overflow file into its row and removes
// the files. It is called before the writer begins. A crash in between leaves
// the rows that are left to the next opening.
func (i *Inbox) importOverflow(ctx context.Context) error {
	dir := i.db.Path + "-spill"
	for more := true; more; {
		err := i.db.WriteTx(ctx, func(tx *sql.Tx) (err error) {
			more, err = i.importSome(ctx, tx, dir)
			return err
		})
		if err != nil {
			return fmt.Errorf("import overflow files: %w", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove overflow files: %w", err)
	}
	return nil
}

// importSome moves the next few bodies and reports whether there may be more.
func (i *Inbox) importSome(ctx context.Context, tx *sql.Tx, dir string) (more bool, err error) {
	list, err := readOverflowRows(ctx, tx)
	if err != nil {
		return false, err
	}
	for _, r := range list {
		if err := i.importBody(ctx, tx, dir, r); err != nil {
			return false, err
		}
	}
	return len(list) > 0, nil
}

func readOverflowRows(ctx context.Context, tx *sql.Tx) (list []overflowRow, err error) {
	var size int64
	err = sqlite.Each(ctx, tx, func(rows *sql.Rows) error {
		var r overflowRow
		if err := rows.Scan(&r.id, &r.hasBody, &r.state, &r.encoding, &r.checksum, &r.file, &r.at, &r.size); err != nil {
			return err
		}
		if size += r.size; len(list) == 0 || size <= overflowBytes {
			list = append(list, r)
		}
		return nil
	}, `SELECT id, body IS NOT NULL, state, encoding, checksum, spill, spill_at, spill_size
		FROM deliveries WHERE spill <> 0 ORDER BY spill, spill_at LIMIT 32`)
	return list, err
}

// importBody moves one body. A body that is lost or damaged was never
// acknowledged, unless the disk is damaged: its delivery is quarantined and its
// key is free again. A file that cannot be read now is an error.
func (i *Inbox) importBody(ctx context.Context, tx *sql.Tx, dir string, r overflowRow) error {
	const clear = `UPDATE deliveries SET spill = 0, spill_at = 0, spill_size = 0`
	if !r.hasBody {
		_, err := tx.ExecContext(ctx, clear+` WHERE id = ?`, r.id)
		return err
	}
	packed, err := readOverflow(dir, r)
	lost := errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !lost {
		return fmt.Errorf("%w; with the file moved away its deliveries are quarantined", err)
	}
	body, err := unpackBody(r.encoding, r.checksum, packed)
	if err == nil && !lost {
		_, err := tx.ExecContext(ctx, clear+`, encoding = 0, checksum = ?, body = ? WHERE id = ?`, hashBody(body), body, r.id)
		return err
	}
	i.log.Error().Int64("delivery", r.id).Str("state", r.state).
		Msg("a delivery's body is not whole: power was lost before its sender was answered, or the disk is damaged")
	if r.state == StateApplied {
		_, err = tx.ExecContext(ctx, clear+`, body = NULL, header = '' WHERE id = ?`, r.id)
		return err
	}
	_, err = tx.ExecContext(ctx, clear+`, body = X'', encoding = 0, checksum = ?, state = 'quarantined', settled_at = ?,
		webhook_id = webhook_id || '.lost-' || id,
		reason = 'its body was lost with the power or the disk; sent again, it counts as new; sync reads the meeting again'
		WHERE id = ?`, hashBody(nil), toMillis(i.now()), r.id)
	return err
}

// readOverflow returns a body as it was written.
func readOverflow(dir string, r overflowRow) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, strconv.FormatInt(r.file, 10)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if r.at < 0 || r.size < 0 || r.at+r.size > info.Size() {
		return nil, fmt.Errorf("%s is cut short: %w", f.Name(), io.ErrUnexpectedEOF)
	}
	body := make([]byte, r.size)
	_, err = f.ReadAt(body, r.at)
	return body, err
}
