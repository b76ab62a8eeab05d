package archive

import (
	"database/sql"
	"fmt"
)

// insideTerm is the condition that the recorder of meetings m belongs to the
// organisation (specification 4.1). The plain list leaves out meetings recorded
// outside, so every recorder that it ever showed is inside. Where no plain list was
// read, known people are inside: users, members of teams, persons of accounts. An
// address's domain proves nothing.
const insideTerm = `CASE WHEN EXISTS (SELECT 1 FROM watches WHERE query = '')
	THEN EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = m.recording_id AND s.query = '')
		OR m.recorder <> '' AND EXISTS (SELECT 1 FROM meetings x JOIN sightings s USING (recording_id)
			WHERE x.recorder = m.recorder AND s.query = '')
	ELSE m.recorder <> '' AND (EXISTS (SELECT 1 FROM users WHERE email = m.recorder AND ` + configured + `)
		OR EXISTS (SELECT 1 FROM team_members WHERE email = m.recorder AND ` + configured + `)
		OR EXISTS (SELECT 1 FROM account_people WHERE email = m.recorder AND ` + configured + `))
	END`

// recorder is the address of who recorded a meeting, as it is compared.
func (t *applying) recorder(id int64) (email string, err error) {
	_, err = t.Scan(`SELECT recorder FROM meetings WHERE recording_id = ?`, []any{id}, &email)
	return email, err
}

// judgeOutside decides again whether an observed meeting was recorded outside; was is
// its recorder before. The recorder's other meetings follow. A fresh meeting is logged
// by its parts.
func (t *applying) judgeOutside(id int64, was string, fresh bool) error {
	var outside bool
	var email string
	changed, err := t.Scan(`UPDATE meetings AS m SET outside = NOT (`+insideTerm+`) WHERE recording_id = ?
		AND outside = (`+insideTerm+`) RETURNING outside, recorder`, []any{id}, &outside, &email)
	if err != nil {
		return err
	}
	if !changed {
		email, err = t.recorder(id)
	} else if !fresh {
		err = t.changed(id, ChangeVisibility, "")
	}
	if err == nil && email != "" && (changed || was != email) {
		err = t.judgeAll(!changed || !outside, changed && outside, `recorder = ?`, email)
	}
	if err == nil && was != "" && was != email {
		err = t.judgeAll(false, true, `recorder = ?`, was)
	}
	return err
}

// judgeAll decides anew for the meetings of a condition, and logs those that
// others see from now on: of those outside, with widen, and of those inside,
// with narrow.
func (t *applying) judgeAll(widen, narrow bool, where string, args ...any) error {
	var ids []int64
	take := func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}
	if widen {
		err := t.Each(`UPDATE meetings AS m SET outside = 0 WHERE outside = 1 AND `+where+` AND (`+insideTerm+`) RETURNING recording_id`, args, take)
		if err != nil {
			return fmt.Errorf("decide what was recorded outside: %w", err)
		}
	}
	if narrow {
		err := t.Each(`UPDATE meetings AS m SET outside = 1 WHERE outside = 0 AND `+where+` AND NOT (`+insideTerm+`) RETURNING recording_id`, args, take)
		if err != nil {
			return fmt.Errorf("decide what was recorded outside: %w", err)
		}
	}
	for _, id := range ids {
		if err := t.changed(id, ChangeVisibility, ""); err != nil {
			return err
		}
	}
	return nil
}
