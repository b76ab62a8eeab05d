package archive

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"minutebook/internal/sqlite"
)

// DownloadState is where a recording stands on its way to the disk.
type DownloadState string

// The states of a download. From wanted it goes by requested and ready to done;
// a failure or a lapsed link leads back to wanted with a later due time.
const (
	DownloadWanted    DownloadState = "wanted"    // to be requested when due
	DownloadRequested DownloadState = "requested" // the service is generating it
	DownloadReady     DownloadState = "ready"     // there is a link to fetch it from
	DownloadDone      DownloadState = "done"      // attached to the meeting
	DownloadRefused   DownloadState = "refused"   // no account may have it (403), or is shown the meeting
	DownloadNone      DownloadState = "none"      // there is no media (422)
	DownloadDeleted   DownloadState = "deleted"   // a retention rule deleted it, or has it not fetched
)

// Download is a row of the queue of recordings.
type Download struct {
	RecordingID int64
	State       DownloadState
	Due         time.Time // nothing is done with it before; of one that was refused or has none: since when
	Account     string    // the account whose credential requested it
	DownloadID  string
	RequestedAt time.Time // of one that waits in the queue: when Due was set
	ExpiresAt   time.Time // of the link, zero: unknown; the link itself is not kept
	Kind        MediaKind
	ContentType string
	Size        int64  // bytes, as the service says
	Validator   string // ETag or date of the bytes in the partial file, and the digest announced with them
	Fetched     int64  // bytes that are durable in the partial file
	Requests    int    // download requests made for it
	Lapsed      int    // links that expired before they were fetched
	Failures    int    // in a row
	Reason      string // of the last failure or refusal
	SHA256      string // of the whole file, from before the store has it until it is attached

	// RefusedBy are the accounts that may not have it, or are shown no such meeting. ForbiddenTo are
	// those of them that may not have it (403), and addresses of people whose account is another
	// person's now: none of these people plays it. SaveDownload writes neither, since both may
	// have changed after the row was read.
	RefusedBy, ForbiddenTo []string
}

// WantDownloads puts meetings into the queue that have no recording and are not
// in it, or lost it, or were refused to others than now see them, and returns how many it put
// there; without ids it considers every meeting that is not gone.
func (a *Archive) WantDownloads(ctx context.Context, ids ...int64) (int, error) {
	const insert = `INSERT INTO downloads (recording_id, state, due_at)
		SELECT recording_id, 'wanted', 0 FROM meetings m
		WHERE gone_at IS NULL AND recording_id NOT BETWEEN %d AND %d AND %s
			AND NOT EXISTS (SELECT 1 FROM attachments t WHERE t.recording_id = m.recording_id)
		ON CONFLICT (recording_id) DO UPDATE SET state = 'wanted', due_at = 0
		WHERE downloads.state = 'done' OR downloads.state = 'refused' AND EXISTS (
			SELECT 1 FROM sightings s WHERE s.recording_id = downloads.recording_id AND s.gone_at IS NULL
				AND s.` + configuredTerm + ` AND s.account NOT IN (SELECT value FROM json_each(downloads.refused_by)))`
	where, args := "true", []any{}
	if len(ids) > 0 {
		list, err := json.Marshal(ids)
		if err != nil {
			return 0, fmt.Errorf("queue downloads: %w", err)
		}
		where, args = "recording_id IN (SELECT value FROM json_each(?))", []any{string(list)}
	}
	res, err := a.db.ExecContext(ctx, fmt.Sprintf(insert, FirstForeignID, FirstForeignID+ForeignIDs-1, where), args...)
	if err != nil {
		return 0, fmt.Errorf("queue downloads: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// RetryDownload makes a recording due to be requested now, whatever was answered before,
// and reports whether it did. It leaves alone a recording that is here or on its way,
// that a retention rule deleted, and those of meetings that are gone. A person to
// whom the service forbade the recording does not play it until the service gives it to that person.
func (a *Archive) RetryDownload(ctx context.Context, id int64) (bool, error) {
	res, err := a.db.ExecContext(ctx, `INSERT INTO downloads (recording_id, state, due_at)
		SELECT recording_id, 'wanted', 0 FROM meetings m
		WHERE recording_id = ? AND recording_id NOT BETWEEN ? AND ? AND gone_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM attachments t WHERE t.recording_id = m.recording_id)
		ON CONFLICT (recording_id) DO UPDATE SET state = 'wanted', due_at = 0, failures = 0, reason = '', refused_by = '[]'
		WHERE downloads.state IN ('wanted', 'refused', 'none', 'done')`, id, FirstForeignID, FirstForeignID+ForeignIDs-1)
	if err != nil {
		return false, fmt.Errorf("retry download of %d: %w", id, err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// SaveDownload writes a row of the queue. It is durable when it returns. A recording that is done
// is forbidden no longer to the person whose account requested it, which is logged as ChangeMedia.
// It fails with ErrForgotten where nobody wants the recording any more: its meeting was forgotten,
// or a retention rule deleted it.
func (a *Archive) SaveDownload(ctx context.Context, d Download) error {
	return a.saveDownload(ctx, d, "[]", "[]", Position{})
}

// SaveRefusal is SaveDownload for a recording that the service refused to an account, which is not
// asked for it again. Where isForbidden is true (403), the account's person does not play it;
// that is logged as ChangeMedia. The account was asked when the log was at asked: where the
// meeting, the accounts or the directory have changed since, the account is asked again. Its person
// does not play the recording before, since another account may fetch it, so that nobody asks; unless
// the account has become another person's, or somebody is shown the meeting anew.
func (a *Archive) SaveRefusal(ctx context.Context, d Download, account string, isForbidden bool, asked Position) error {
	refused, err := json.Marshal([]string{account})
	if err != nil {
		return fmt.Errorf("save download of %d: %w", d.RecordingID, err)
	}
	forbidden := "[]"
	if isForbidden {
		forbidden = string(refused)
	}
	return a.saveDownload(ctx, d, string(refused), forbidden, asked)
}

// saveDownload writes a row, and adds accounts, as JSON lists, to those to which the recording
// is refused and forbidden, unless the log has a change after asked that may end that.
func (a *Archive) saveDownload(ctx context.Context, d Download, refused, forbidden string, asked Position) error {
	_, err := a.change(ctx, func(tx *sql.Tx) error {
		before := "[]"
		err := tx.QueryRowContext(ctx, `SELECT forbidden_to FROM downloads WHERE recording_id = ?`, d.RecordingID).Scan(&before)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if refused != "[]" {
			var isOutdated, mayPlay bool
			err := tx.QueryRowContext(ctx, `SELECT count(*) > 0, total(kind = ?1) > 0
					OR EXISTS (SELECT 1 FROM accounts WHERE name IN (SELECT value FROM json_each(?4)) AND owned_since >= (SELECT at FROM changes WHERE seq = ?2))
				FROM changes WHERE seq > ?2 AND recording_id IN (0, ?3)`, ChangeMedia, asked.Seq, d.RecordingID, forbidden).Scan(&isOutdated, &mayPlay)
			if err != nil {
				return err
			}
			if isOutdated {
				refused = "[]"
			}
			if isOutdated && mayPlay {
				forbidden = "[]"
			}
		}
		var after string
		err = tx.QueryRowContext(ctx, upsertDownload, d.RecordingID, d.State, sqlite.Millis(d.Due).Int64, d.Account, d.DownloadID,
			sqlite.Millis(d.RequestedAt), sqlite.Millis(d.ExpiresAt), d.Kind, d.ContentType, d.Size, d.Validator, d.Fetched,
			d.Requests, d.Lapsed, d.Failures, d.Reason, refused, d.SHA256, forbidden).Scan(&after)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrForgotten
		}
		if err != nil || before == after {
			return err
		}
		return logChange(ctx, tx, d.RecordingID, ChangeMedia, "", a.now())
	})
	if err != nil {
		return fmt.Errorf("save download of %d: %w", d.RecordingID, err)
	}
	return nil
}

// upsertDownload writes a row. A recording that is done allows nobody to play it where the account
// belonged to another person when it was requested.
var upsertDownload = `INSERT INTO downloads (recording_id, state, due_at, account, download_id,
		requested_at, expires_at, kind, content_type, size, validator, fetched, requests, lapsed,
		failures, reason, refused_by, sha256, forbidden_to)
	SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19
	WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE recording_id = ?1)
	ON CONFLICT (recording_id) DO UPDATE SET state = excluded.state, due_at = excluded.due_at,
		account = excluded.account, download_id = excluded.download_id,
		requested_at = excluded.requested_at, expires_at = excluded.expires_at, kind = excluded.kind,
		content_type = excluded.content_type, size = excluded.size, validator = excluded.validator,
		fetched = excluded.fetched, requests = excluded.requests, lapsed = excluded.lapsed,
		failures = excluded.failures, reason = excluded.reason, sha256 = excluded.sha256,
		refused_by = (SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(downloads.refused_by) UNION SELECT value FROM json_each(?17))),
		forbidden_to = (SELECT json_group_array(value) FROM (
			SELECT value FROM json_each(downloads.forbidden_to) UNION SELECT value FROM json_each(?19))
			WHERE ?2 <> 'done' OR ` + ownerTerm(`value`) + ` <> ` + ownerTerm(`?4`) + `
				OR EXISTS (SELECT 1 FROM accounts WHERE name = ?4 AND owned_since > ?6))
	WHERE downloads.state <> 'deleted'
	RETURNING forbidden_to`

// EndUnfound has a recording asked for again by the accounts that were shown no such recording. An
// account to which the service forbade the recording does not ask again.
func (a *Archive) EndUnfound(ctx context.Context, id int64) error {
	_, err := a.db.ExecContext(ctx, `UPDATE downloads SET refused_by = (SELECT json_group_array(value) FROM json_each(refused_by)
		WHERE value IN (SELECT value FROM json_each(forbidden_to))) WHERE recording_id = ?`, id)
	if err != nil {
		return fmt.Errorf("have %d asked for again: %w", id, err)
	}
	return nil
}

// RightsDigest returns a digest of all that the directory says of the rights of an account's person,
// or of everybody's where nobody knows whose the account is.
func (a *Archive) RightsDigest(ctx context.Context, account string) (string, error) {
	const isConcerned = `(email IN (SELECT email FROM account_people WHERE account = ?1) OR NOT EXISTS (SELECT 1 FROM account_people WHERE account = ?1))`
	said, err := sqlite.Column[string](ctx, a.db.R, `SELECT json_array(email, status, settings_level, settings_teams, view_level, view_teams)
			FROM users WHERE `+isConcerned+`
		UNION SELECT json_array(email, team) FROM team_members WHERE `+isConcerned+` ORDER BY 1`, account)
	if err != nil {
		return "", fmt.Errorf("read the rights of account %s: %w", account, err)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(said, "\n")))), nil
}

// EndRefusals has the recordings that are refused to an account asked for again, and sets a mark.
func (a *Archive) EndRefusals(ctx context.Context, account string, mark Mark) error {
	err := a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE downloads SET refused_by = (SELECT json_group_array(value) FROM json_each(refused_by) WHERE value <> ?1)
			WHERE refused_by <> '[]' AND EXISTS (SELECT 1 FROM json_each(refused_by) WHERE value = ?1)`, account)
		if err != nil {
			return err
		}
		return setMarks(ctx, tx, []Mark{mark})
	})
	if err != nil {
		return fmt.Errorf("end the refusals of account %s: %w", account, err)
	}
	return nil
}

// DownloadOf returns a recording's row of the queue, or ErrNotFound.
func (a *Archive) DownloadOf(ctx context.Context, id int64) (Download, error) {
	return firstDownload(a.readDownloads(ctx, `WHERE d.recording_id = ?`, id))
}

func firstDownload(list []Download, err error) (Download, error) {
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("read download: %w", ErrNotFound)
	}
	if err != nil {
		return Download{}, err
	}
	return list[0], nil
}

// OpenDownloads returns the unfinished downloads, earliest expiry first, those without
// a link last.
func (a *Archive) OpenDownloads(ctx context.Context) ([]Download, error) {
	return a.readDownloads(ctx, `WHERE d.state IN ('requested', 'ready')
		ORDER BY d.expires_at IS NULL, d.expires_at, d.recording_id`)
}

// longestPatience is longer than any recording is left alone: one that is due later, or was put
// into the queue later than now, was dated by a clock that was wrong, and is due now.
const longestPatience = 8 * 24 * time.Hour

// WantedDownloads returns at most limit recordings that may be requested at now, those of
// the newest meetings first. It looks at all that are wanted, without those that no other
// accounts than the busy ones are shown and may have.
func (a *Archive) WantedDownloads(ctx context.Context, now time.Time, limit int, busy ...string) ([]int64, error) {
	args, isFree := []any{now.UnixMilli(), now.Add(longestPatience).UnixMilli(), limit}, ""
	if len(busy) > 0 {
		list, err := json.Marshal(busy)
		if err != nil {
			return nil, fmt.Errorf("read wanted downloads: %w", err)
		}
		args = append(args, string(list))
		isFree = ` AND EXISTS (SELECT 1 FROM sightings s WHERE s.recording_id = d.recording_id AND s.gone_at IS NULL AND s.` + configuredTerm + `
			AND s.account NOT IN (SELECT value FROM json_each(?4) UNION SELECT value FROM json_each(d.refused_by)))`
	}
	ids, err := sqlite.Column[int64](ctx, a.db.R, `SELECT d.recording_id FROM downloads d LEFT JOIN meetings m ON m.recording_id = d.recording_id
		WHERE `+isWanted+isFree+` ORDER BY m.sort_at DESC, d.recording_id DESC LIMIT ?3`, args...)
	if err != nil {
		return nil, fmt.Errorf("read wanted downloads: %w", err)
	}
	return ids, nil
}

// WantedDownload returns a recording's row of the queue, as wanted, when it may be requested at
// now, ErrNotFound otherwise.
func (a *Archive) WantedDownload(ctx context.Context, id int64, now time.Time) (Download, error) {
	d, err := firstDownload(a.readDownloads(ctx, `WHERE `+isWanted+` AND d.recording_id = ?3`, now.UnixMilli(), now.Add(longestPatience).UnixMilli(), id))
	d.State = DownloadWanted
	return d, err
}

// isWanted is true for the recordings that may be requested. A time that lies in the future is a
// wrong clock's: the recording is due, and a refusal counts for nothing, since by that clock the
// meeting may have seemed too old to get a recording still.
const isWanted = `(d.state = 'wanted' AND (d.due_at NOT BETWEEN ?1 + 1 AND ?2 OR d.requested_at > ?1)
	OR d.state IN ('refused', 'none') AND d.due_at > ?1)`

// NextWanted returns when, from now on, the next row may be requested, or the zero
// time when none is wanted.
func (a *Archive) NextWanted(ctx context.Context, now time.Time) (time.Time, error) {
	var due sql.NullInt64
	err := a.db.R.QueryRowContext(ctx, `SELECT min(iif(state <> 'wanted' OR due_at > ?1 OR requested_at > ?2, ?2, due_at)) FROM downloads
		WHERE state = 'wanted' OR state IN ('refused', 'none') AND due_at > ?2`,
		now.Add(longestPatience).UnixMilli(), now.UnixMilli()).Scan(&due)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the next download: %w", err)
	}
	return sqlite.NullTime(due), nil
}

// DownloadCounts returns how many rows are in each state.
func (a *Archive) DownloadCounts(ctx context.Context) (map[DownloadState]int, error) {
	counts, err := sqlite.Map[DownloadState, int](ctx, a.db.R, `SELECT state, count(*) FROM downloads GROUP BY state`)
	if err != nil {
		return nil, fmt.Errorf("count downloads: %w", err)
	}
	return counts, nil
}

// CountLapsed counts the recordings that are not here, and of which a link expired
// before they were fetched.
func (a *Archive) CountLapsed(ctx context.Context) (n int, err error) {
	err = a.db.R.QueryRowContext(ctx, `SELECT count(*) FROM downloads
		WHERE lapsed > 0 AND state IN ('wanted', 'requested', 'ready')`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count lapsed downloads: %w", err)
	}
	return n, nil
}

func (a *Archive) readDownloads(ctx context.Context, where string, args ...any) ([]Download, error) {
	list, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, d *Download) error {
		var due int64
		var requested, expires sql.NullInt64
		var refused, forbidden []byte
		err := rows.Scan(&d.RecordingID, &d.State, &due, &d.Account, &d.DownloadID, &requested, &expires,
			&d.Kind, &d.ContentType, &d.Size, &d.Validator, &d.Fetched, &d.Requests, &d.Lapsed,
			&d.Failures, &d.Reason, &refused, &d.SHA256, &forbidden)
		d.Due, d.RequestedAt, d.ExpiresAt = sqlite.Time(due), sqlite.NullTime(requested), sqlite.NullTime(expires)
		return errors.Join(err, json.Unmarshal(refused, &d.RefusedBy), json.Unmarshal(forbidden, &d.ForbiddenTo))
	}, `SELECT d.recording_id, d.state, d.due_at, d.account, d.download_id,
		d.requested_at, d.expires_at, d.kind, d.content_type, d.size, d.validator, d.fetched, d.requests,
		d.lapsed, d.failures, d.reason, d.refused_by, d.sha256, d.forbidden_to FROM downloads d `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("read downloads: %w", err)
	}
	return list, nil
}
