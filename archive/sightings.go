package archive

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// sight notes that a list query showed the meeting. A meeting that was gone is
// back when a later walk than the one that missed it lists it. That a query of an
// account shows a meeting that was known before without it is logged.
func (t *applying) sight(o *Observation, fresh bool) error {
	at := o.At.UnixMilli()
	sawBefore, err := t.sees(o.RecordingID, o.Account, o.Query)
	if err != nil {
		return err
	}
	if err := t.watch(o.Account, o.Query); err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO sightings (recording_id, account, query, first_at, last_at, holder) VALUES (?, ?, ?, ?4, ?4, `+holderTerm("?2")+`)
		ON CONFLICT DO UPDATE SET first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
			gone_at = iif(excluded.last_at >= gone_at, NULL, gone_at), holder = excluded.holder
		WHERE excluded.first_at < first_at OR excluded.last_at > last_at OR excluded.holder > holder`, o.RecordingID, o.Account, o.Query, at)
	if err != nil {
		return err
	}
	if !sawBefore && !fresh {
		if sees, err := t.sees(o.RecordingID, o.Account, o.Query); err != nil {
			return err
		} else if sees {
			if err := t.changed(o.RecordingID, ChangeVisibility, ""); err != nil {
				return err
			}
		}
	}
	res, err := t.exec(`UPDATE meetings SET gone_at = NULL WHERE recording_id = ?1 AND gone_at IS NOT NULL
		AND EXISTS (SELECT 1 FROM sightings WHERE recording_id = ?1 AND gone_at IS NULL)`, o.RecordingID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return t.changed(o.RecordingID, ChangeGone, "")
}

// sees tells whether a query shows the meeting to the account's present holder.
func (t *applying) sees(id int64, account, query string) (bool, error) {
	var one int
	return t.scan(`SELECT 1 FROM sightings WHERE recording_id = ?1 AND account = ?2 AND query = ?3 AND gone_at IS NULL
		AND holder = `+holderTerm("?2"), []any{id, account, query}, &one)
}

// CompleteWalk says that a walk of a list query, begun at startedAt, went
// through to its last page without an error. What the query listed before, to the
// account's present holder, and this walk did not is no longer seen by it; a meeting that no query of any
// account sees any more is marked gone, and returned. Meetings that no list ever
// showed are not judged. A walk older than the last complete one does nothing.
func (a *Archive) CompleteWalk(ctx context.Context, account, query string, startedAt time.Time) (gone []int64, err error) {
	started := startedAt.UnixMilli()
	_, err = a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, newStatements(ctx, tx))
		res, err := t.exec(`INSERT INTO walks (account, query, started_at, ended_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET started_at = excluded.started_at, ended_at = excluded.ended_at
			WHERE excluded.started_at >= started_at`, account, query, started, t.at.UnixMilli())
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		gone, err = t.markGone(account, query, started)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("complete walk of %q for %s: %w", query, account, err)
	}
	return gone, nil
}

// deriveGone sets gone_at from the sightings: when the last of them ended.
const deriveGone = `UPDATE meetings SET gone_at =
	(SELECT iif(count(*) = count(gone_at), max(gone_at), NULL) FROM sightings WHERE recording_id = ?1) WHERE recording_id = ?1`

func (t *applying) markGone(account, query string, started int64) ([]int64, error) {
	var missed []int64
	err := t.each(`UPDATE sightings SET gone_at = ?3 WHERE account = ?1 AND query = ?2 AND last_at < ?3 AND gone_at IS NULL
		AND holder = `+holderTerm("?1")+` RETURNING recording_id`, []any{account, query, started}, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		missed = append(missed, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	var gone []int64
	for _, id := range missed {
		res, err := t.exec(deriveGone+` AND gone_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM sightings WHERE recording_id = ?1 AND gone_at IS NULL)`, id)
		if err != nil {
			return nil, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, err
		}
		if n == 0 {
			if err := t.changed(id, ChangeVisibility, ""); err != nil {
				return nil, err
			}
			continue
		}
		if err := t.changed(id, ChangeGone, ""); err != nil {
			return nil, err
		}
		gone = append(gone, id)
	}
	return gone, nil
}

// LastWalk is the start of the last complete walk of a query, zero when there
// was none.
func (a *Archive) LastWalk(ctx context.Context, account, query string) (time.Time, error) {
	var at sql.NullInt64
	err := a.db.R.QueryRowContext(ctx, `SELECT max(started_at) FROM walks WHERE account = ? AND query = ?`, account, query).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("read last walk: %w", err)
	}
	return nullTime(at), nil
}
