package archive

// sight notes that a list query showed the meeting. A meeting that was gone is
// back when a page lists it that was asked for after the walk that lacked it had
// begun. That a query of an account shows a meeting that was known before without
// it is logged.
func (t *applying) sight(o *Observation, fresh bool) error {
	at := o.At.UnixMilli()
	sawBefore, err := t.sees(o.RecordingID, o.Account, o.Query)
	if err != nil {
		return err
	}
	if err := t.watch(o.Account, o.Query); err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO sightings (recording_id, account, query, first_at, last_at, walk, holder) VALUES (?1, ?2, ?3, ?4, ?4, ?5, `+holderTerm("?2")+`)
		ON CONFLICT DO UPDATE SET first_at = min(first_at, excluded.first_at), walk = max(walk, excluded.walk), holder = excluded.holder,
			last_at = iif(excluded.walk > walk, excluded.last_at, max(last_at, excluded.last_at)),
			gone_at = iif(excluded.walk > walk OR excluded.holder > holder, NULL, gone_at)
		WHERE excluded.first_at < first_at OR excluded.last_at > last_at OR excluded.walk > walk OR excluded.holder > holder`,
		o.RecordingID, o.Account, o.Query, at, o.Walk)
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
	res, err := t.Exec(`UPDATE meetings SET gone_at = NULL WHERE recording_id = ?1 AND gone_at IS NOT NULL
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
	return t.Scan(`SELECT 1 FROM sightings WHERE recording_id = ?1 AND account = ?2 AND query = ?3 AND gone_at IS NULL
		AND holder = `+holderTerm("?2"), []any{id, account, query}, &one)
}
