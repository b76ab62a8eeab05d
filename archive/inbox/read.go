package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"minutebook/internal/sqlite"
)

// maxPendingBytes bounds the bodies that one call of Pending brings into memory.
const maxPendingBytes = 16 << 20

const deliveryColumns = `id, account, kind, webhook_id, received_at, sent_at, recording_id,
	state, settled_at, reason, size, header`

const bodyColumns = `, encoding, checksum, body`

// Pending returns deliveries that wait to be applied, in the order they came: at
// most limit, and fewer when their bodies are large, but at least one if any
// waits. One whose body is damaged comes with a nil Body.
func (i *Inbox) Pending(ctx context.Context, limit int) ([]Delivery, error) {
	rows, err := i.db.R.QueryContext(ctx, `SELECT `+deliveryColumns+bodyColumns+`
		FROM deliveries WHERE state = 'received' ORDER BY id LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("read pending deliveries: %w", err)
	}
	defer rows.Close()
	var out []Delivery
	var size int64
	for size < maxPendingBytes && rows.Next() {
		d, err := scanWithBody(rows)
		if err != nil {
			return nil, fmt.Errorf("read pending deliveries: %w", err)
		}
		size += d.Size
		out = append(out, d)
	}
	return out, rows.Err()
}

// PendingCount is how many deliveries wait to be applied.
func (i *Inbox) PendingCount(ctx context.Context) (n int, err error) {
	err = i.db.R.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE state = 'received'`).Scan(&n)
	return n, err
}

// WaitPending returns nil as soon as a delivery waits to be applied. It fails with ctx's error,
// and with ErrClosed.
func (i *Inbox) WaitPending(ctx context.Context) error {
	for {
		i.mu.Lock()
		arrived := i.arrived
		i.mu.Unlock()
		n, err := i.PendingCount(ctx)
		if err != nil || n > 0 {
			return err
		}
		select {
		case <-arrived:
		case <-i.stop:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Delivery returns one delivery with its body, or ErrNoDelivery.
func (i *Inbox) Delivery(ctx context.Context, id int64) (Delivery, error) {
	row := i.db.R.QueryRowContext(ctx, `SELECT `+deliveryColumns+bodyColumns+` FROM deliveries WHERE id = ?`, id)
	d, err := scanWithBody(row)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoDelivery
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery %d: %w", id, err)
	}
	return d, nil
}

// DeliveryOf finds a webhook's delivery by the key its sender gave it, without
// its body, or returns ErrNoDelivery.
func (i *Inbox) DeliveryOf(ctx context.Context, account, webhookID string) (Delivery, error) {
	row := i.db.R.QueryRowContext(ctx, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE account = ? AND kind = 'webhook' AND webhook_id = ?`, account, webhookID)
	d, err := scanDelivery(row)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoDelivery
	}
	if err != nil {
		return Delivery{}, fmt.Errorf("read delivery %q: %w", webhookID, err)
	}
	return d, nil
}

// EachAbout calls fn for every delivery with a kept body that is about a recording,
// or whose recording is not known yet. One whose body is damaged comes with a nil
// Body.
func (i *Inbox) EachAbout(ctx context.Context, recordingID int64, fn func(Delivery) error) error {
	return sqlite.Each(ctx, i.db.R, func(rows *sql.Rows) error {
		d, err := scanWithBody(rows)
		if err != nil {
			return err
		}
		return fn(d)
	}, `SELECT `+deliveryColumns+bodyColumns+` FROM deliveries
		WHERE recording_id IN (?, 0) AND body IS NOT NULL`, recordingID)
}

// A Query selects deliveries to list. The zero value selects all.
type Query struct {
	Account string
	State   string
	Before  int64 // only those with a smaller ID; 0: from the latest
	Limit   int   // 0 means 50
}

// List returns deliveries without their bodies, the latest first.
func (i *Inbox) List(ctx context.Context, q Query) ([]Delivery, error) {
	if q.Limit <= 0 {
		q.Limit = 50
	}
	list, err := sqlite.List(ctx, i.db.R, func(rows *sql.Rows, d *Delivery) (err error) {
		*d, err = scanDelivery(rows)
		return err
	}, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE (?1 = '' OR account = ?1) AND (?2 = '' OR state = ?2) AND (?3 = 0 OR id < ?3)
		ORDER BY id DESC LIMIT ?4`, q.Account, q.State, q.Before, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// Counts is the number of deliveries in each state.
type Counts struct {
	Received    int `json:"received"`
	Applied     int `json:"applied"`
	Quarantined int `json:"quarantined"`
}

// Counts counts every delivery ever acknowledged, by state.
func (i *Inbox) Counts(ctx context.Context) (c Counts, err error) {
	err = i.db.R.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE state = 'received'),
		count(*) FILTER (WHERE state = 'applied'), count(*) FILTER (WHERE state = 'quarantined')
		FROM deliveries`).Scan(&c.Received, &c.Applied, &c.Quarantined)
	return c, err
}

type scanner interface{ Scan(...any) error }

// scanDelivery reads deliveryColumns, and the columns that follow into more.
func scanDelivery(row scanner, more ...any) (Delivery, error) {
	var d Delivery
	var received, sent, settled int64
	var header string
	err := row.Scan(append([]any{&d.ID, &d.Account, &d.Kind, &d.WebhookID, &received, &sent, &d.RecordingID,
		&d.State, &settled, &d.Reason, &d.Size, &header}, more...)...)
	if err != nil {
		return d, err
	}
	d.ReceivedAt, d.SentAt, d.SettledAt = fromMillis(received), fromMillis(sent), fromMillis(settled)
	d.Header = parseHeader(header)
	return d, nil
}

// scanWithBody reads deliveryColumns and bodyColumns. One whose body is damaged
// comes without it, which intake reports.
func scanWithBody(row scanner) (Delivery, error) {
	var p packedBody
	d, err := scanDelivery(row, p.columns()...)
	if err == nil {
		d.Body, _ = p.unpack()
	}
	return d, err
}

// packedBody holds bodyColumns.
type packedBody struct {
	encoding int
	checksum int64
	body     []byte
}

func (p *packedBody) columns() []any { return []any{&p.encoding, &p.checksum, &p.body} }

func (p *packedBody) unpack() ([]byte, error) { return unpackBody(p.encoding, p.checksum, p.body) }
