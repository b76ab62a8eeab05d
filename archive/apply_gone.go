package archive

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Walk is one reading of everything that a list query of an account shows. The walks
// of a query are numbered, so that no clock decides which came first.
type Walk struct {
	Account, Query string
	Number         int64 // among the query's walks, from 1
	Listed         int   // meetings that the query listed before
	// Bounded says that every page was asked for with a bound of created_at, so
	// that a meeting without that time could not be listed.
	Bounded bool
	// ByKey says that an API key asked for the pages. The service refuses the keys of
	// deactivated users.
	ByKey bool
}

// Absence is the outcome of a complete walk for the meetings that it lacks.
type Absence struct {
	Gone   []int64 // marked now: no query that is read shows them any more
	Hidden int     // meetings that this query does not show any more
	Lacked int     // meetings that were listed before, and not by this walk
	Listed int
	// Doubted is true when the walk lacked too many meetings to be believed alone.
	// They are hidden when another complete walk lacks them too.
	Doubted bool
	// Confirmed: the walk before lacked these meetings too, and was doubted.
	Confirmed bool
}

// isImplausible reports whether a walk lacked so many meetings that its list may not
// have been whole: all of them, or more than a tenth and more than three.
func isImplausible(absent, listed int) bool {
	return absent > 0 && absent >= listed || absent > 3 && absent*10 > listed
}

// BeginWalk begins a walk of a list query. Observations of pages that are asked
// for from now on carry its number, or a later one's.
func (a *Archive) BeginWalk(ctx context.Context, account, query string) (Walk, error) {
	w := Walk{Account: account, Query: query}
	err := a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `INSERT INTO walks (account, query, begun, doubted) VALUES (?, ?, 1, -2)
			ON CONFLICT DO UPDATE SET begun = begun + 1 RETURNING begun`, account, query).Scan(&w.Number)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, rankList, account, walkList(query)); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT count(*) FROM sightings WHERE account = ?1 AND query = ?2 AND gone_at IS NULL
			AND holder = `+holderTerm("?1"), account, query).Scan(&w.Listed)
	})
	if err != nil {
		return Walk{}, fmt.Errorf("begin walk of %q for %s: %w", query, account, err)
	}
	return w, nil
}

// LatestWalk returns the number of the walk of a query that was begun last, 0
// when none was.
func (a *Archive) LatestWalk(ctx context.Context, account, query string) (number int64, err error) {
	err = a.db.R.QueryRowContext(ctx, `SELECT coalesce(max(begun), 0) FROM walks WHERE account = ? AND query = ?`, account, query).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("read the latest walk of %q for %s: %w", query, account, err)
	}
	return number, nil
}

// CompleteWalk records that a walk reached its last page without an error. Meetings
// that its query listed before, to the account's present holder, and that the walk
// lacked are no longer visible to the query. A meeting that no query which is read sees
// any more is marked gone; one that only queries showed which are not read any more is not
// judged, nor one that no list ever showed. A walk that lacks implausibly many meetings is
// not believed alone: only meetings that another complete walk lacks too are hidden. A walk
// older than the latest complete one does nothing. A walk with a person's key shows that
// the person is an active user.
func (a *Archive) CompleteWalk(ctx context.Context, w Walk) (Absence, error) {
	absence := Absence{Listed: w.Listed}
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		t := newApplying(a, sqlite.NewStatements(ctx, tx))
		var doubted int64
		latest, err := t.Scan(`UPDATE walks SET completed = ?3, ended_at = ?4 WHERE account = ?1 AND query = ?2 AND completed < ?3
			RETURNING doubted`, []any{w.Account, w.Query, w.Number, t.at.UnixMilli()}, &doubted)
		if err != nil || !latest {
			return err
		}
		absent, err := t.findLacking(w, w.Number)
		if err != nil {
			return err
		}
		before, err := t.findLacking(w, doubted)
		if err != nil {
			return err
		}
		absence.Lacked = len(absent)
		if isImplausible(len(absent), w.Listed) {
			absent = before
			absence.Doubted, absence.Confirmed = absence.Lacked > len(before), len(before) > 0
		}
		absence.Hidden = len(absent)
		doubted = min(doubted+1, 0)
		if absence.Doubted {
			doubted = w.Number
		}
		if _, err := t.Exec(`UPDATE walks SET doubted = ?3 WHERE account = ?1 AND query = ?2`, w.Account, w.Query, doubted); err != nil {
			return err
		}
		unwatched, err := t.findUnwatched(w)
		if err != nil {
			return err
		}
		if absence.Gone, err = t.endSightings(w, append(absent, unwatched...)); err != nil {
			return err
		}
		return t.reactivate(w)
	})
	if err != nil {
		return Absence{}, fmt.Errorf("complete walk of %q for %s: %w", w.Query, w.Account, err)
	}
	return absence, nil
}

// lackingSightings are the sightings s of meetings that the query ?2 listed to the present holder of
// the account ?1 and no page has shown since walk ?3 began. Where ?4 is true, meetings
// without created_at are left out.
func lackingSightings() string {
	return `sightings s WHERE account = ?1 AND query = ?2 AND walk < ?3 AND gone_at IS NULL
		AND holder = ` + holderTerm("?1") + ` AND (NOT ?4 OR EXISTS
			(SELECT 1 FROM meetings m WHERE m.recording_id = s.recording_id AND m.created_at IS NOT NULL))`
}

// findLacking returns the meetings that a walk lacks if it has that number.
func (t *applying) findLacking(w Walk, number int64) (ids []int64, err error) {
	return sqlite.Column[int64](t.Context(), t, `SELECT recording_id FROM `+lackingSightings(), w.Account, w.Query, number, w.Bounded)
}

// Lacking returns when the meetings were created that a walk lacks after its last page, of
// those that have such a time: nothing where they are too many to be believed at once, see
// [Archive.CompleteWalk].
func (a *Archive) Lacking(ctx context.Context, w Walk) (created []time.Time, err error) {
	list, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, at *sql.NullInt64) error { return rows.Scan(at) },
		`SELECT (SELECT created_at FROM meetings m WHERE m.recording_id = s.recording_id) FROM `+lackingSightings()+` ORDER BY 1 DESC`, w.Account, w.Query, w.Number, w.Bounded)
	if err != nil {
		return nil, fmt.Errorf("read what walk %d of %q for %s lacks: %w", w.Number, w.Query, w.Account, err)
	}
	if isImplausible(len(list), w.Listed) {
		return nil, nil
	}
	for _, at := range list {
		if at.Valid {
			created = append(created, sqlite.NullTime(at))
		}
	}
	return created, nil
}

// deriveGone sets gone_at from the sightings: when the last of them ended.
const deriveGone = `UPDATE meetings SET gone_at =
	(SELECT iif(count(*) = count(gone_at), max(gone_at), NULL) FROM sightings WHERE recording_id = ?1) WHERE recording_id = ?1`

// watchEnded is when a sighting s stopped being watched: its query left the configuration,
// or its account another person's; null while the query is read.
const watchEnded = `coalesce(w.ended_at, iif(a.holder > s.holder, a.since, NULL))`

// watchedSightings are the sightings s with all that watchEnded needs.
const watchedSightings = `sightings s LEFT JOIN watches w ON w.account = s.account AND w.query = s.query LEFT JOIN accounts a ON a.name = s.account`

// endSighting ends a query's sighting of a meeting, and all those that are not watched any
// more, whichever account's: no walk would ever end them, and a list that is read has shown
// the meeting and shows it no more. These begin again with whatever page shows the meeting,
// where their list is read again: no walk of theirs has lacked it.
const endSighting = `UPDATE sightings SET gone_at = ?4, walk = iif(account = ?2 AND query = ?3, walk, -1) WHERE recording_id = ?1 AND gone_at IS NULL AND (account = ?2 AND query = ?3
	OR (account, query) IN (SELECT s.account, s.query FROM ` + watchedSightings + ` WHERE s.recording_id = ?1 AND ` + watchEnded + ` IS NOT NULL))`

// findUnwatched returns the meetings that the query lacked before, and that are shown by
// lists alone that are not read any more and that showed them last before that: those
// whose account or query left the configuration just after the walk, and those of archives
// in which absences ended no sighting that was not watched.
func (t *applying) findUnwatched(w Walk) ([]int64, error) {
	return sqlite.Column[int64](t.Context(), t, `SELECT recording_id FROM sightings lacking WHERE account = ?1 AND query = ?2 AND gone_at IS NOT NULL
		AND holder = `+holderTerm("?1")+` AND (SELECT min(`+watchEnded+` IS NOT NULL AND s.last_at <= lacking.gone_at)
			FROM `+watchedSightings+` WHERE s.recording_id = lacking.recording_id AND s.gone_at IS NULL)`, w.Account, w.Query)
}

// endSightings ends the query's sightings of meetings and returns those that are gone.
func (t *applying) endSightings(w Walk, ids []int64) (gone []int64, err error) {
	for _, id := range ids {
		if _, err := t.Exec(endSighting, id, w.Account, w.Query, t.at.UnixMilli()); err != nil {
			return nil, err
		}
		if err := t.decideAfterListing(id); err != nil {
			return nil, err
		}
		res, err := t.Exec(deriveGone+` AND gone_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM sightings WHERE recording_id = ?1 AND gone_at IS NULL)`, id)
		if err != nil {
			return nil, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			gone = append(gone, id)
			if err := t.logChange(id, ChangeGone, ""); err != nil {
				return nil, err
			}
			continue
		}
		if err := t.logChange(id, ChangeVisibility, ""); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// endRefusal ends the refusals of a recording to all accounts of a person when another query of
// one of them shows the meeting, so that it is asked for again. Where the service forbade it, that
// stays unless the person sees the meeting again (?3): the recording may be here already, so
// that nobody asks.
var endRefusal = `UPDATE downloads SET refused_by = (SELECT json_group_array(value) FROM json_each(refused_by) WHERE ` + ownerTerm(`value`) + ` <> ` + ownerTerm(`?2`) + `),
		forbidden_to = (SELECT json_group_array(value) FROM json_each(forbidden_to) WHERE NOT ?3 OR ` + ownerTerm(`value`) + ` <> ` + ownerTerm(`?2`) + `)
	WHERE recording_id = ?1 AND (refused_by <> '[]' OR forbidden_to <> '[]')`

// endRefusals has a recording asked for again by all accounts, where a meeting is shared in another
// way: the service may give it now to an account to which it refused it. A person to whom it was
// forbidden does not play it before that.
const endRefusals = `UPDATE downloads SET refused_by = '[]' WHERE recording_id = ?1 AND refused_by <> '[]'`

// recordListing records that a list query showed the meeting. A gone meeting is back
// when a page lists it, if that page was requested after the walk that lacked it had
// begun. It logs when a query of an account begins to show a known meeting, or shows it
// again.
func (t *applying) recordListing(o *Observation, isNew bool) error {
	at := o.At.UnixMilli()
	wasListed, err := t.isListed(o.RecordingID, o.Account, o.Query)
	if err != nil {
		return err
	}
	isAgain := false
	if !wasListed && !isNew {
		if isAgain, err = t.wasHidden(o); err != nil {
			return err
		}
	}
	if err := t.recordWatch(o.Account, o.Query); err != nil {
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
	if !wasListed && !isNew {
		if listed, err := t.isListed(o.RecordingID, o.Account, o.Query); err != nil {
			return err
		} else if listed {
			if _, err := t.Exec(endRefusal, o.RecordingID, o.Account, isAgain); err != nil {
				return err
			}
			if err := t.decideAfterListing(o.RecordingID); err != nil {
				return err
			}
			if err := t.logChange(o.RecordingID, ChangeVisibility, ""); err != nil {
				return err
			}
			if isAgain { // the person may play it, also where an answer from before that says otherwise comes later
				if err := t.logChange(o.RecordingID, ChangeMedia, ""); err != nil {
					return err
				}
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
	return t.logChange(o.RecordingID, ChangeGone, "")
}

// isListed reports whether a query shows the meeting to the account's present holder.
func (t *applying) isListed(id int64, account, query string) (bool, error) {
	var ignored int
	return t.Scan(`SELECT 1 FROM sightings WHERE recording_id = ?1 AND account = ?2 AND query = ?3 AND gone_at IS NULL
		AND holder = `+holderTerm("?2"), []any{id, account, query}, &ignored)
}

// wasHidden reports whether an observation shows the meeting anew to the account's person, to whom
// the recording is forbidden: a walk has ended the last sighting of the person's accounts; or no list
// that is read shows the meeting to their present holders, and two whole walks of the list that
// shows it now, which showed it to somebody before, have lacked it since an account changed. No
// walk tells of the meetings that a former key or account was shown, and one walk may have read a list
// that was empty by mistake. A new key alone shows nothing anew.
func (t *applying) wasHidden(o *Observation) (hidden bool, err error) {
	_, err = t.Scan(`WITH own AS (SELECT s.walk, s.gone_at, `+watchEnded+` AS ended, iif(a.email <> '', a.owned_since, 0) AS owned_since
			FROM `+watchedSightings+` WHERE s.recording_id = ?1 AND `+ownerTerm("s.account")+` = `+ownerTerm("?2")+`)
		SELECT coalesce(max(iif(walk >= 0 AND gone_at >= owned_since, gone_at, NULL)) >= max(coalesce(gone_at, 9e18)), 0)
			OR total(gone_at IS NULL AND ended IS NULL) = 0 AND EXISTS (SELECT 1 FROM sightings WHERE recording_id = ?1 AND query = ?3)
				AND EXISTS (SELECT 1 FROM walks WHERE account = ?2 AND query = ?3 AND doubted = 0) FROM own`,
		[]any{o.RecordingID, o.Account, o.Query}, &hidden)
	return hidden, err
}

// Sighting is a list query of an account that shows a meeting.
type Sighting struct{ Account, Query string }

// OpenSightings returns the queries that show a meeting now.
func (a *Archive) OpenSightings(ctx context.Context, id int64) (list []Sighting, err error) {
	list, err = sqlite.List(ctx, a.db.R, func(rows *sql.Rows, s *Sighting) error {
		return rows.Scan(&s.Account, &s.Query)
	}, `SELECT account, query FROM sightings WHERE recording_id = ? AND gone_at IS NULL ORDER BY 1, 2`, id)
	if err != nil {
		return nil, fmt.Errorf("read who is shown %d: %w", id, err)
	}
	return list, nil
}
