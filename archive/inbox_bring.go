package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

const (
	bringRows  = 32
	bringBytes = 8 << 20
	bringEvery = time.Second // how often it is looked whether it is quiet
	// bringAnyway is how long a step of bringing in waits for that.
	bringAnyway = 5 * time.Second
)

// spilled is a row whose body is not in it.
type spilled struct {
	id       int64
	gone     bool // the body was let go
	state    string
	encoding int
	checksum int64
	at       spillRef
}

// readSpilled returns some rows whose bodies are behind a place, in files up to
// a number, in their order.
func readSpilled(ctx context.Context, db *sql.DB, after spillRef, upTo int64) (list []spilled, err error) {
	rows, err := db.QueryContext(ctx, `SELECT id, body IS NULL, state, encoding, checksum, spill, spill_at, spill_size
		FROM deliveries WHERE spill <> 0 AND (spill, spill_at) > (?, ?) AND spill <= ? ORDER BY spill, spill_at LIMIT ?`,
		after.file, after.at, upTo, bringRows)
	if err != nil {
		return nil, fmt.Errorf("list spilled bodies: %w", err)
	}
	var size int64
	err = sqlite.EachRow(rows, func(rows *sql.Rows) error {
		var r spilled
		if err := rows.Scan(&r.id, &r.gone, &r.state, &r.encoding, &r.checksum, &r.at.file, &r.at.at, &r.at.size); err != nil {
			return err
		}
		if size += r.at.size; len(list) == 0 || size <= bringBytes {
			list = append(list, r)
		}
		return nil
	})
	return list, err
}

// A brought body is one on its way into SQLite.
type brought struct {
	spilled
	body []byte
}

// bring reads bodies and compresses them. One that is damaged is taken as it is,
// so that it is still known for what it is.
func (i *Inbox) bring(list []spilled) ([]brought, error) {
	out := make([]brought, len(list))
	for n, r := range list {
		out[n].spilled = r
		if r.gone {
			continue
		}
		packed, err := i.spill.read(r.at)
		switch {
		case lost(err):
			i.log.Error().Err(err).Int64("delivery", r.id).Msg("a body is lost")
			packed = []byte{}
		case err != nil:
			return nil, err
		}
		if body, err := unpackBody(r.encoding, r.checksum, packed); err == nil && r.encoding == encodingPlain {
			var room []byte
			out[n].encoding, packed = packBody(body, &room, false)
			out[n].checksum = checksumOf(packed)
		}
		out[n].body = packed
	}
	return out, nil
}

// putBrought writes brought bodies into their rows, but for those that were let
// go meanwhile.
func putBrought(ctx context.Context, db execer, list []brought) error {
	for _, r := range list {
		_, err := db.ExecContext(ctx, `UPDATE deliveries SET encoding = ?, checksum = ?, spill = 0, spill_at = 0, spill_size = 0,
			body = CASE WHEN body IS NULL THEN NULL ELSE ? END WHERE id = ? AND spill = ?`, r.encoding, r.checksum, r.body, r.id, r.at.file)
		if err != nil {
			return fmt.Errorf("bring in the body of delivery %d: %w", r.id, err)
		}
	}
	return nil
}

// bringIn has every body in SQLite that had come when it was called, and removes
// their files. It calls pace, unless nil, before each step, and ends with its error.
func (i *Inbox) bringIn(ctx context.Context, pace func(context.Context) error) error {
	var upTo int64
	err := i.submitPatiently(ctx, func() *write {
		return &write{size: 64, do: func(context.Context, *sql.Conn) error {
			upTo = i.spill.rotate()
			return nil
		}}
	})
	if err != nil {
		return err
	}
	for more := true; more; {
		if pace != nil {
			if err := pace(ctx); err != nil {
				return err
			}
		}
		var err error
		if more, err = i.bringSome(ctx, upTo); err != nil {
			return err
		}
	}
	// What another has brought in may not be on disk yet. This write is answered
	// after all before it.
	if err := i.submitPatiently(ctx, func() *write { return &write{do: noChange} }); err != nil {
		return err
	}
	return i.spill.remove(upTo)
}

func noChange(context.Context, *sql.Conn) error { return nil }

// bringSome brings in a few bodies of the files up to a number, and returns false
// when there are none.
func (i *Inbox) bringSome(ctx context.Context, upTo int64) (more bool, err error) {
	select {
	case i.bringing <- struct{}{}:
		defer func() { <-i.bringing }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	list, err := readSpilled(ctx, i.db.R, spillRef{}, upTo)
	if err != nil || len(list) == 0 {
		return false, err
	}
	bodies, err := i.bring(list)
	if err != nil {
		return false, err
	}
	var size int64
	for _, b := range bodies {
		size += int64(len(b.body)) + 256
	}
	return true, i.submitPatiently(ctx, func() *write {
		return &write{size: size, logged: size, do: func(ctx context.Context, conn *sql.Conn) error {
			return putBrought(ctx, conn, bodies)
		}}
	})
}

// submitPatiently submits what write makes, again while too much waits for it.
func (i *Inbox) submitPatiently(ctx context.Context, write func() *write) error {
	for {
		err := i.submit(ctx, write())
		if !errors.Is(err, ErrInboxBehind) {
			return err
		}
		if err := sleep(ctx, bringEvery); err != nil {
			return err
		}
	}
}

// bringLoop brings bodies in whenever some were spilled and it is quiet.
func (i *Inbox) bringLoop(ctx context.Context) {
	defer close(i.bringEnded)
	for {
		select {
		case <-i.wasSpilled:
		case <-ctx.Done():
			return
		}
		err := i.quiet(ctx)
		if err == nil {
			err = i.bringIn(ctx, i.quiet)
		}
		if ctx.Err() != nil || errors.Is(err, ErrInboxClosed) {
			return
		}
		if err != nil {
			i.log.Error().Err(err).Msg("bringing in spilled bodies failed")
			i.hasSpilled()
			if sleep(ctx, time.Minute) != nil {
				return
			}
		}
	}
}

// hasSpilled tells bringLoop that there is something to do.
func (i *Inbox) hasSpilled() {
	select {
	case i.wasSpilled <- struct{}{}:
	default:
	}
}

// quiet waits until deliveries are few, but not for long: what was let go, or
// is to be forgotten, must leave the files though they never are.
func (i *Inbox) quiet(ctx context.Context) error {
	for waited := time.Duration(0); waited < bringAnyway && (i.Busy() || i.pressed()); waited += bringEvery {
		if err := sleep(ctx, bringEvery); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Whole has every body in SQLite, and keeps new ones there until release is
// called: the file can then be copied by itself.
func (i *Inbox) Whole(ctx context.Context) (release func(), err error) {
	i.spill.hold()
	if err := i.bringIn(ctx, nil); err != nil {
		i.spill.release()
		return nil, fmt.Errorf("bring in spilled bodies: %w", err)
	}
	return i.spill.release, nil
}
