package service

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

const (
	// deliveryTimeout is how long an endpoint has to answer.
	deliveryTimeout = 15 * time.Second
	// disableAfter is how long an endpoint may fail before it is disabled.
	disableAfter = 5 * 24 * time.Hour
)

// retryWait is the wait before the attempt after that many have failed; ok is
// false when there is none: 0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h.
func retryWait(failed int) (wait time.Duration, ok bool) {
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
	kind        string // webhook, transcript, summary, download
	webhookID   string
	recordingID int64
	messageID   string
	url         string
	body        []byte
	attempts    int
}

// endpointKey is what attempts are counted by, so that one slow endpoint does
// not hold up the others.
func (o *outgoing) endpointKey() string {
	if o.webhookID != "" {
		return o.webhookID
	}
	return o.url
}

// queueCallback queues content for a destination_url.
func (st store) queueCallback(ctx context.Context, kind string, id int64, url string, body []byte) error {
	return st.inTx(ctx, func(tx *sql.Tx) error {
		return st.insertCallback(ctx, tx, kind, id, url, body, st.now())
	})
}

func (st store) insertCallback(ctx context.Context, tx *sql.Tx, kind string, id int64, url string, body []byte, at time.Time) error {
	message, err := st.newID("msg_")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO deliveries (kind, recording_id, message_id, url, body, state, created_at, next_at)
		VALUES (?, ?, ?, ?, ?, 'pending', ?, ?)`, kind, id, message, url, body, ms(st.now()), ms(at))
	if err != nil {
		return fmt.Errorf("queue callback: %w", err)
	}
	return nil
}

// perEndpoint is how many attempts one endpoint is sent at one time.
const perEndpoint = 4

// due returns what is to be sent now, oldest first, at most perEndpoint of each
// endpoint, and when the next row after now is due (zero when there is none).
func (st store) due(ctx context.Context, now time.Time, limit int) (due []outgoing, next time.Time, err error) {
	rows, err := st.db.R.QueryContext(ctx, `SELECT id, kind, coalesce(webhook_id, ''), recording_id, message_id, url, body, attempts FROM (
			SELECT *, row_number() OVER (PARTITION BY coalesce(webhook_id, url) ORDER BY next_at, id) AS place
			FROM deliveries WHERE state = 'pending' AND next_at <= ?)
		WHERE place <= ? ORDER BY next_at, id LIMIT ?`, ms(now), perEndpoint, limit)
	if err != nil {
		return nil, next, fmt.Errorf("read queue: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o outgoing
		if err := rows.Scan(&o.id, &o.kind, &o.webhookID, &o.recordingID, &o.messageID, &o.url, &o.body, &o.attempts); err != nil {
			return nil, next, fmt.Errorf("read queue: %w", err)
		}
		due = append(due, o)
	}
	if err := rows.Err(); err != nil {
		return nil, next, fmt.Errorf("read queue: %w", err)
	}
	var at sql.NullInt64
	err = st.db.R.QueryRowContext(ctx, `SELECT min(next_at) FROM deliveries WHERE state = 'pending' AND next_at > ?`, ms(now)).Scan(&at)
	if err != nil {
		return nil, next, fmt.Errorf("read queue: %w", err)
	}
	if at.Valid {
		next = fromMS(at.Int64)
	}
	return due, next, nil
}

// outcome is how one attempt went.
type outcome struct {
	at     time.Time
	status int // 0 when no answer came
	reason string
	ok     bool
}

// record writes an attempt's outcome: done, due again, or given up. A webhook
// whose endpoint has failed for disableAfter is disabled; disabled says so.
func (st store) record(ctx context.Context, o *outgoing, out outcome) (disabled bool, err error) {
	err = st.inTx(ctx, func(tx *sql.Tx) error {
		state, next, body := "done", ms(out.at), []byte(nil)
		if !out.ok {
			wait, again := retryWait(o.attempts + 1)
			state, next = "failed", ms(out.at)
			if again {
				state, next, body = "pending", ms(out.at.Add(wait)), o.body
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = ?, next_at = ?, body = ?, attempts = attempts + 1,
			last_at = ?, last_status = ?, last_error = ? WHERE id = ? AND state = 'pending'`,
			state, next, body, ms(out.at), out.status, out.reason, o.id)
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

// recordEndpoint keeps since when a webhook's endpoint has been failing.
func recordEndpoint(ctx context.Context, tx *sql.Tx, id string, out outcome) (disabled bool, err error) {
	if out.ok {
		_, err = tx.ExecContext(ctx, `UPDATE webhooks SET failing_since = NULL WHERE id = ?`, id)
		return false, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE webhooks SET failing_since = coalesce(failing_since, ?) WHERE id = ?`, ms(out.at), id)
	if err != nil {
		return false, err
	}
	res, err := tx.ExecContext(ctx, `UPDATE webhooks SET disabled_at = ?1, reason = 'the endpoint failed for five days: ' || ?2
		WHERE id = ?3 AND disabled_at IS NULL AND deleted_at IS NULL AND failing_since <= ?4`,
		ms(out.at), out.reason, id, ms(out.at.Add(-disableAfter)))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, dropPending(ctx, tx, id, "disabled")
}
