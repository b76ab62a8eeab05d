package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"minutebook/internal/sqlite"
)

const (
	// deliveryTimeout is how long an endpoint has to answer.
	deliveryTimeout = 15 * time.Second
	// unknownWait is how long a row waits at a time whose owner has no status in the directory, and
	// unknownLimit how old it becomes so: somebody can be between two lists for a night.
	unknownWait  = time.Hour
	unknownLimit = 2 * 24 * time.Hour
	// disableAfter is how long an endpoint may fail before it is disabled.
	disableAfter = 5 * 24 * time.Hour
)

// retryDelay is the wait before the next attempt after that many have failed; ok is
// false when there is no next one: 0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.
func retryDelay(failed int) (wait time.Duration, ok bool) {
	schedule := [...]time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 10 * time.Hour}
	if failed >= len(schedule) {
		return 0, false
	}
	return schedule[failed], true
}

// outgoing is a row of the queue that is due.
type outgoing struct {
	id          int64
	owner       string // whose webhook or callback it is
	kind        string // webhook, transcript, summary, download
	webhookID   string
	recordingID int64
	messageID   string
	url         string
	body        []byte // read when it is sent
	attempts    int
	createdAt   time.Time
}

// endpointKey is the key by which attempts are counted, so that one slow endpoint
// does not delay the others: a webhook, or all callbacks of a person.
func (o *outgoing) endpointKey() string {
	if o.webhookID != "" {
		return o.webhookID
	}
	return "callbacks of " + o.owner
}

// maxCallbacks is how many callbacks of one person can wait to be sent.
const maxCallbacks = 200

// callback is content for a destination_url.
type callback struct {
	owner, kind, url string
	recordingID      int64
	body             []byte
	at               time.Time // when it is due
}

// queueCallback queues content for a destination_url.
func (st store) queueCallback(ctx context.Context, c callback) error {
	return st.db.WriteTx(ctx, func(tx *sql.Tx) error { return st.insertCallback(ctx, tx, c) })
}

// insertCallback queues a callback in the caller's transaction. It fails with
// 429 when too many of that person wait already.
func (st store) insertCallback(ctx context.Context, tx *sql.Tx, c callback) error {
	if err := st.refuseForgotten(ctx, c.recordingID); err != nil {
		return err
	}
	var waiting int
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE state = 'pending' AND owner = ? AND webhook_id IS NULL`, c.owner).Scan(&waiting)
	if err != nil {
		return fmt.Errorf("count callbacks: %w", err)
	}
	if waiting >= maxCallbacks {
		return &failure{status: http.StatusTooManyRequests, text: "too many callbacks are waiting to be sent", retry: time.Minute}
	}
	message, err := st.newID("msg_")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO deliveries (kind, owner, recording_id, message_id, url, body, state, created_at, next_at)
		VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?)`, c.kind, c.owner, c.recordingID, message, c.url, c.body, st.now().UnixMilli(), c.at.UnixMilli())
	if err != nil {
		return fmt.Errorf("queue callback: %w", err)
	}
	return nil
}

// How many attempts one endpoint is sent at one time, and all endpoints of one
// person.
const (
	perEndpoint = 4
	perOwner    = 8
)

// readDue returns the rows to send now, oldest first, without their bodies: at most
// perEndpoint of each endpoint and perOwner of each person, whose endpoints take turns. next is
// when the next row after now is due (zero when there is none).
func (st store) readDue(ctx context.Context, now time.Time, limit int) (due []outgoing, next time.Time, err error) {
	first, err := st.readNextDue(ctx, math.MinInt64)
	if err != nil || first.IsZero() || first.After(now) {
		return nil, first, err // the usual case, and cheap
	}
	rows, err := st.db.R.QueryContext(ctx, `SELECT d.id, d.owner, kind, coalesce(d.webhook_id, ''), recording_id, message_id, url, attempts, created_at FROM (
			SELECT id, place, row_number() OVER (PARTITION BY owner ORDER BY place, next_at, id) AS turn FROM (
				SELECT id, owner, next_at, row_number() OVER (PARTITION BY owner, webhook_id ORDER BY next_at, id) AS place
				FROM deliveries WHERE state = 'pending' AND next_at <= ?)) JOIN deliveries d USING (id)
		WHERE place <= ? AND turn <= ? ORDER BY d.next_at, d.id LIMIT ?`, now.UnixMilli(), perEndpoint, perOwner, limit)
	if err != nil {
		return nil, next, fmt.Errorf("read queue: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o outgoing
		var created int64
		if err := rows.Scan(&o.id, &o.owner, &o.kind, &o.webhookID, &o.recordingID, &o.messageID, &o.url, &o.attempts, &created); err != nil {
			return nil, next, fmt.Errorf("read queue: %w", err)
		}
		o.createdAt = sqlite.Time(created)
		due = append(due, o)
	}
	if err := rows.Err(); err != nil {
		return nil, next, fmt.Errorf("read queue: %w", err)
	}
	next, err = st.readNextDue(ctx, now.UnixMilli())
	return due, next, err
}

// readNextDue returns when the first row after a time in milliseconds is due, or zero.
func (st store) readNextDue(ctx context.Context, after int64) (next time.Time, err error) {
	var at sql.NullInt64
	err = st.db.R.QueryRowContext(ctx, `SELECT min(next_at) FROM deliveries WHERE state = 'pending' AND next_at > ?`, after).Scan(&at)
	if err != nil {
		return next, fmt.Errorf("read queue: %w", err)
	}
	if at.Valid {
		next = sqlite.Time(at.Int64)
	}
	return next, nil
}

// readBody reads the body of a row; ok is false when the row does not wait any more.
func (st store) readBody(ctx context.Context, id int64) (body []byte, ok bool, err error) {
	err = st.db.R.QueryRowContext(ctx, `SELECT body FROM deliveries WHERE id = ? AND state = 'pending'`, id).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read queue: %w", err)
	}
	return body, true, nil
}

// withhold ends a row whose owner may not have it any more.
func (st store) withhold(ctx context.Context, id int64) error {
	_, err := st.db.ExecContext(ctx, `UPDATE deliveries SET state = 'withheld', body = NULL WHERE id = ? AND state = 'pending'`, id)
	if err != nil {
		return fmt.Errorf("withhold delivery %d: %w", id, err)
	}
	return nil
}

// postpone has a row wait, without an attempt.
func (st store) postpone(ctx context.Context, id int64, until time.Time) error {
	_, err := st.db.ExecContext(ctx, `UPDATE deliveries SET next_at = ? WHERE id = ? AND state = 'pending'`, until.UnixMilli(), id)
	if err != nil {
		return fmt.Errorf("postpone delivery %d: %w", id, err)
	}
	return nil
}

// outcome is how one attempt went.
type outcome struct {
	at     time.Time
	status int // 0 when no answer came
	reason string
	ok     bool
}

// recordOutcome writes an attempt's outcome: done, due again, or given up. An endpoint
// that answers 410 Gone is not tried again. disabled tells that the webhook was
// disabled, see recordEndpoint.
func (st store) recordOutcome(ctx context.Context, o *outgoing, out outcome) (disabled bool, err error) {
	err = st.db.WriteTx(ctx, func(tx *sql.Tx) error {
		state, next := "done", out.at.UnixMilli()
		if !out.ok {
			wait, retry := retryDelay(o.attempts + 1)
			state, next = "failed", out.at.UnixMilli()
			if retry && out.status != http.StatusGone {
				state, next = "pending", out.at.Add(wait).UnixMilli()
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = ?1, next_at = ?2, body = iif(?1 = 'pending', body, NULL),
			attempts = attempts + 1, last_at = ?3, last_status = ?4, last_error = ?5 WHERE id = ?6 AND state = 'pending'`,
			state, next, out.at.UnixMilli(), out.status, out.reason, o.id)
		if err != nil {
			return fmt.Errorf("record delivery: %w", err)
		}
		if o.webhookID == "" {
			return nil
		}
		disabled, err = recordEndpoint(ctx, tx, o.webhookID, out)
		return err
	})
	return disabled, err
}
