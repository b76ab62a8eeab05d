package notes

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Item identifies an action item, to which the service gives no id. Items of a meeting
// with the same moment and text are one.
type Item struct {
	RecordingID int64
	At          time.Duration // into the recording; -1: unknown
	Text        string        // its description
}

// NewItem returns the item of a meeting with a text; at < 0: its moment is not known.
func NewItem(id int64, at time.Duration, text string) Item {
	if at >= 0 { // else cutting it would make it the beginning of the recording
		at = at.Truncate(time.Millisecond)
	}
	return Item{RecordingID: id, At: at, Text: text}
}

// compareItems orders items by meeting, moment and text.
func compareItems(a, b Item) int {
	return cmp.Or(cmp.Compare(a.RecordingID, b.RecordingID), cmp.Compare(a.At, b.At), cmp.Compare(a.Text, b.Text))
}

// Tick says that an action item was done here.
type Tick struct {
	Item
	Person   int64 // who ticked it off
	TickedAt time.Time
}

// Tick ticks an action item off for a person. A ticked item stays as it is. It fails with
// [archive.ErrNotFound] or [archive.ErrForgotten] when the archive does not have the
// meeting; whether the meeting has the item is the caller's to look at.
func (d *DB) Tick(ctx context.Context, person int64, i Item) error {
	defer d.dropCaches()
	return d.write(ctx, "tick an action item off", func(tx *sql.Tx) error {
		_, err := d.insertTick(ctx, tx, Tick{Item: i, Person: person, TickedAt: d.now()})
		return err
	})
}

// insertTick adds a tick and reports whether it is new.
func (d *DB) insertTick(ctx context.Context, tx *sql.Tx, t Tick) (added bool, err error) {
	if err := d.checkMeeting(ctx, t.RecordingID); err != nil {
		return false, err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO ticks (recording_id, at, text, person, ticked_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		t.RecordingID, toMillis(t.At), t.Text, t.Person, t.TickedAt.UnixMilli())
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// Untick opens an action item again that was ticked off here.
func (d *DB) Untick(ctx context.Context, i Item) error {
	defer d.dropCaches()
	return d.write(ctx, "open an action item again", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM ticks WHERE recording_id = ? AND at = ? AND text = ?`, i.RecordingID, toMillis(i.At), i.Text)
		return err
	})
}

// Ticks returns the items of some meetings that were ticked off, of all meetings where
// ids is nil.
func (d *DB) Ticks(ctx context.Context, ids []int64) (map[Item]Tick, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	ticks := map[Item]Tick{}
	err = sqlite.Each(ctx, d.db.R, func(rows *sql.Rows) error {
		t, err := scanTick(rows)
		ticks[t.Item] = t
		return err
	}, `SELECT recording_id, at, text, person, ticked_at FROM ticks
		WHERE ? OR recording_id IN (SELECT value FROM json_each(?))`, ids == nil, string(list))
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	return ticks, nil
}

// AllTicks returns the items of all meetings that were ticked off. The caller does not
// change them.
func (d *DB) AllTicks(ctx context.Context) (map[Item]Tick, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ticks == nil {
		ticks, err := d.Ticks(ctx, nil)
		if err != nil {
			return nil, err
		}
		d.ticks = ticks
	}
	return d.ticks, nil
}

func scanTick(rows *sql.Rows) (t Tick, err error) {
	var at, ticked int64
	err = rows.Scan(&t.RecordingID, &at, &t.Text, &t.Person, &ticked)
	t.At, t.TickedAt = fromMillis(at), sqlite.Time(ticked)
	return t, err
}
