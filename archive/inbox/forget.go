package inbox

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/klauspost/compress/s2"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// ForgetRecording drops the bodies of everything that arrived about a
// recording, also of deliveries that are not applied yet; those are settled
// without it. Keys stay, so that a repeat does not bring it back. It is called
// once the archive knows the recording as forgotten: a later delivery is
// dropped when it is settled. It returns the damaged deliveries whose recording cannot
// be read: they may be about this one, and are kept.
func (i *Inbox) ForgetRecording(ctx context.Context, recordingID int64) (unreadable []int64, err error) {
	ids, unreadable, err := i.findUnapplied(ctx, recordingID)
	if err != nil {
		return nil, fmt.Errorf("forget recording %d in the inbox: %w", recordingID, err)
	}
	err = i.submit(ctx, &write{size: 64 * int64(1+len(ids)), do: func(ctx context.Context, conn *sql.Conn) error {
		at := toMillis(i.now())
		for _, id := range ids {
			if err := dropDelivery(ctx, conn, Outcome{ID: id, RecordingID: recordingID}, at); err != nil {
				return err
			}
		}
		if _, err := conn.ExecContext(ctx, `UPDATE deliveries SET body = NULL, header = '', reason = '', state = 'applied',
			settled_at = ? WHERE recording_id = ?`, at, recordingID); err != nil {
			return fmt.Errorf("forget recording %d in the inbox: %w", recordingID, err)
		}
		_, err := conn.ExecContext(ctx, `DELETE FROM callbacks WHERE recording_id = ?`, recordingID)
		return err
	}})
	if err != nil {
		return nil, err
	}
	i.emptyLog(ctx)
	return unreadable, nil
}

// Mentions reports whether a delivery waits that is about a recording, or is
// quarantined, or a callback about it is expected.
func (i *Inbox) Mentions(ctx context.Context, recordingID int64) (bool, error) {
	ids, _, err := i.findUnapplied(ctx, recordingID)
	named := false
	if err == nil && len(ids) == 0 {
		err = i.db.R.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deliveries WHERE recording_id = ?1 AND body IS NOT NULL)
			OR EXISTS (SELECT 1 FROM callbacks WHERE recording_id = ?1)`, recordingID).Scan(&named)
	}
	if err != nil {
		return false, fmt.Errorf("look for recording %d in the inbox: %w", recordingID, err)
	}
	return named || len(ids) > 0, nil
}

// findUnapplied returns the deliveries about a recording that wait for their application, or
// are quarantined. It also returns the damaged ones among these that name no recording at all.
func (i *Inbox) findUnapplied(ctx context.Context, recordingID int64) (ids, unreadable []int64, err error) {
	err = i.eachUnapplied(ctx, func(id int64, about []int64, damage error) {
		switch {
		case slices.Contains(about, recordingID):
			ids = append(ids, id)
		case damage != nil && len(about) == 0:
			unreadable = append(unreadable, id)
		}
	})
	return ids, unreadable, err
}

// eachUnapplied calls fn for every delivery that waits for its application, or is quarantined,
// with the recordings that its row and its body name, and the damage of the body.
func (i *Inbox) eachUnapplied(ctx context.Context, fn func(id int64, about []int64, damage error)) error {
	return sqlite.Each(ctx, i.db.R, func(rows *sql.Rows) error {
		var id, recordingID int64
		var p packedBody
		if err := rows.Scan(append([]any{&id, &recordingID}, p.columns()...)...); err != nil {
			return err
		}
		about, damage := p.recordingIDs()
		if recordingID != 0 {
			about = append(about, recordingID)
		}
		fn(id, about, damage)
		return nil
	}, `SELECT id, recording_id`+bodyColumns+` FROM deliveries
		WHERE body IS NOT NULL AND id IN (SELECT id FROM deliveries WHERE state = 'received'
			UNION ALL SELECT id FROM deliveries WHERE state = 'quarantined')`)
}

// ReadRecordingIDs returns the recordings, in rising order, about which an inbox.db has a
// delivery with its body, whatever became of the delivery.
func ReadRecordingIDs(ctx context.Context, db sqlite.Querier) (ids []int64, err error) {
	err = sqlite.Each(ctx, db, func(rows *sql.Rows) error {
		var id int64
		var p packedBody
		if err := rows.Scan(append([]any{&id}, p.columns()...)...); err != nil {
			return err
		}
		if id != 0 {
			ids = append(ids, id)
		}
		about, _ := p.recordingIDs()
		ids = append(ids, about...)
		return nil
	}, `SELECT recording_id, encoding, checksum, CASE WHEN recording_id = 0 OR state <> 'applied' THEN body END
		FROM deliveries WHERE body IS NOT NULL`)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// recordingIDs returns the recordings that a body is about. With the damage of a body it
// returns those that can still be read.
func (p *packedBody) recordingIDs() ([]int64, error) {
	body, damage := p.unpack()
	if damage != nil {
		return DamagedRecordingIDs(p.body), damage
	}
	return recordingIDs(body), nil
}

// DamagedRecordingIDs returns the recordings that the stored bytes of a damaged body
// name, as far as they can still be read.
func DamagedRecordingIDs(stored []byte) []int64 {
	ids := recordingIDs(stored)
	if body, err := s2.Decode(nil, stored); err == nil {
		ids = append(ids, recordingIDs(body)...)
	}
	return ids
}

// recordingIDs returns the recordings that a body is about: the recording of a meeting,
// or in any other body every recording_id.
func recordingIDs(body []byte) (ids []int64) {
	if id, _, err := api.SplitMeeting(body); err == nil {
		return []int64{id}
	}
	const key = `"recording_id"`
	for {
		at := bytes.Index(body, []byte(key))
		if at < 0 {
			return ids
		}
		body = bytes.TrimLeft(body[at+len(key):], " \t\r\n:\"")
		digits := len(body) - len(bytes.TrimLeft(body, "0123456789"))
		if id, err := strconv.ParseInt(string(body[:digits]), 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
}

// forgottenOf tells which of the meetings were forgotten: their deliveries leave
// an id and no body. An outcome that does not say which meeting it was about, or that the
// delivery could not be applied, gets the forgotten one that its body names.
func (i *Inbox) forgottenOf(ctx context.Context, outcomes []Outcome) (map[int64]bool, error) {
	gone := map[int64]bool{}
	if i.forgotten == nil {
		return gone, nil
	}
	for n := range outcomes {
		o := &outcomes[n]
		ids := []int64{o.RecordingID}
		if o.RecordingID == 0 || o.Quarantine != "" {
			var p packedBody
			row := i.db.R.QueryRowContext(ctx, `SELECT encoding, checksum, body FROM deliveries WHERE id = ?`, o.ID)
			if err := row.Scan(p.columns()...); err != nil {
				return nil, fmt.Errorf("settle delivery %d: %w", o.ID, err)
			}
			about, _ := p.recordingIDs()
			ids = append(about, o.RecordingID)
		}
		for _, id := range ids {
			is, asked := gone[id]
			if !asked {
				var err error
				if is, err = i.forgotten(ctx, id); err != nil {
					return nil, fmt.Errorf("settle delivery %d: %w", o.ID, err)
				}
				gone[id] = is
			}
			if is {
				o.RecordingID = id
			}
		}
	}
	return gone, nil
}

// DropForgotten drops the bodies of quarantined deliveries about forgotten recordings, which
// earlier versions kept where the archive could not be asked.
func (i *Inbox) DropForgotten(ctx context.Context) error {
	if i.forgotten == nil {
		return nil
	}
	var about []int64
	err := i.eachUnapplied(ctx, func(_ int64, ids []int64, _ error) { about = append(about, ids...) })
	slices.Sort(about)
	for _, id := range slices.Compact(about) {
		is := false
		if err == nil {
			is, err = i.forgotten(ctx, id)
		}
		if err == nil && is {
			_, err = i.ForgetRecording(ctx, id)
		}
	}
	if err != nil {
		return fmt.Errorf("drop deliveries about forgotten recordings: %w", err)
	}
	return nil
}
