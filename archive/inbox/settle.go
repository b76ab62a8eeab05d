package inbox

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"minutebook/internal/sqlite"
)

// An Outcome is the result of applying a delivery.
type Outcome struct {
	ID          int64
	RecordingID int64  // of the meeting; 0 where it is not known
	Quarantine  string // why it could not be applied; "" means that it was
}

// Settle records the outcomes of deliveries in one commit. It is called after the
// commit that applied them: after a crash in between they are applied again, which
// changes nothing.
func (i *Inbox) Settle(ctx context.Context, outcomes ...Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	at := toMillis(i.now())
	outcomes = slices.Clone(outcomes)
	forgotten, err := i.forgottenOf(ctx, outcomes)
	if err != nil {
		return err
	}
	err = i.submit(ctx, &write{size: 64 * int64(len(outcomes)), do: func(ctx context.Context, conn *sql.Conn) error {
		for _, o := range outcomes {
			if forgotten[o.RecordingID] {
				if err := dropDelivery(ctx, conn, o, at); err != nil {
					return err
				}
				continue
			}
			state := StateApplied
			if o.Quarantine != "" {
				state = StateQuarantined
			}
			if _, err := conn.ExecContext(ctx, `UPDATE deliveries SET state = ?, settled_at = ?, reason = ?,
				recording_id = CASE WHEN ? = 0 THEN recording_id ELSE ? END WHERE id = ? AND state <> 'applied'`,
				state, at, o.Quarantine, o.RecordingID, o.RecordingID, o.ID); err != nil {
				return fmt.Errorf("settle delivery %d: %w", o.ID, err)
			}
		}
		return nil
	}})
	if err == nil && slices.Contains(slices.Collect(maps.Values(forgotten)), true) {
		i.emptyLog(ctx)
	}
	return err
}

// emptyLog empties the inbox's log, which holds the bodies of deliveries as they came.
// While somebody reads the log, such as a backup, the writer goroutine tries again
// later: deliveries do not wait for it, and opening the inbox empties the log too.
func (i *Inbox) emptyLog(ctx context.Context) {
	if done, _ := i.db.TryTruncateWAL(ctx); done {
		return
	}
	select {
	case i.truncations <- struct{}{}:
	default: // it is asked for already
	}
}

// retryEmptyLog makes one attempt to empty the log. It returns when the next one is
// due, nil when it succeeded.
func (i *Inbox) retryEmptyLog() <-chan time.Time {
	switch done, err := i.db.TryTruncateWAL(context.Background()); {
	case err != nil:
		i.log.Error().Err(err).Msg("the inbox's log still holds a delivery about a forgotten meeting")
		return time.After(time.Minute)
	case !done:
		return time.After(time.Second)
	}
	return nil
}

// dropDelivery settles a delivery about a forgotten meeting.
func dropDelivery(ctx context.Context, conn *sql.Conn, o Outcome, at int64) error {
	_, err := conn.ExecContext(ctx, `UPDATE deliveries SET body = NULL, header = '', reason = '', state = 'applied',
		settled_at = ?, recording_id = ? WHERE id = ?`, at, o.RecordingID, o.ID)
	if err != nil {
		return fmt.Errorf("settle delivery %d: %w", o.ID, err)
	}
	return nil
}

// Quarantine keeps a delivery apart that could not be understood, with the
// reason for a person to read. Its body is kept until it is replayed.
func (i *Inbox) Quarantine(ctx context.Context, id int64, reason string) error {
	return i.Settle(ctx, Outcome{ID: id, Quarantine: reason})
}

// Replay makes a delivery wait to be applied again, whatever its state. It
// returns ErrNoDelivery, or ErrBodyDropped.
func (i *Inbox) Replay(ctx context.Context, id int64) error {
	d, err := i.Delivery(ctx, id)
	if err != nil {
		return err
	}
	if len(d.Body) == 0 && (d.Body == nil || d.Size > 0) {
		return fmt.Errorf("replay delivery %d: %w; `sync` reads the meeting again", id, ErrBodyDropped)
	}
	return i.submit(ctx, &write{size: 64, arrives: true, do: func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `UPDATE deliveries SET state = 'received', settled_at = 0, reason = ''
			WHERE id = ? AND body IS NOT NULL`, id)
		return err
	}})
}

// passing are texts of reasons that had nothing to do with the delivery: the disk,
// locks, and contexts that ended.
var passing = []string{"disk is full", "no space left", "database is locked", "database table is locked", "disk I/O error",
	"unable to open database", "attempt to write a readonly database", "out of memory", "interrupted", "context "}

// ReplayPassing makes deliveries wait again that an earlier version quarantined for a
// passing reason, and returns their number.
func (i *Inbox) ReplayPassing(ctx context.Context) (int, error) {
	var n int64
	err := i.submit(ctx, &write{size: 64, arrives: true, do: func(ctx context.Context, conn *sql.Conn) error {
		for _, text := range passing {
			res, err := conn.ExecContext(ctx, `UPDATE deliveries SET state = 'received', settled_at = 0, reason = ''
				WHERE state = 'quarantined' AND body IS NOT NULL AND instr(reason, ?) > 0`, text)
			if err != nil {
				return fmt.Errorf("replay deliveries: %w", err)
			}
			more, err := res.RowsAffected()
			if err != nil {
				return err
			}
			n += more
		}
		return nil
	}})
	if err != nil { // the writer may still count
		return 0, err
	}
	return int(n), nil
}

// ReplayAll makes every applied delivery whose body is in the database of an inbox wait to
// be applied again, and returns their number. Nothing else may use the database.
func ReplayAll(ctx context.Context, db *sqlite.DB) (int, error) {
	res, err := db.ExecContext(ctx, `UPDATE deliveries SET state = 'received', settled_at = 0 WHERE state = 'applied' AND body IS NOT NULL`)
	if err != nil {
		return 0, fmt.Errorf("replay deliveries: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}
