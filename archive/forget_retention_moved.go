package archive

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive/merge"
	"minutebook/internal/sqlite"
)

// movedNotice is how long the recordings of a meeting wait after the service gave the
// meeting another team, type or start, when the rules would keep the recordings by the former
// one. A team that is renamed or merged at the service must not delete what a rule
// with its old name keeps. Only time counts in which a process ran with this archive open:
// otherwise nobody could be warned, and no date on the disk is to be trusted.
const movedNotice = 7 * day

const day = 24 * time.Hour

// MovedMeetings counts the meetings whose recordings wait for movedNotice.
type MovedMeetings struct {
	Meetings   int       `json:"meetings"`
	Recordings int       `json:"recordings"`
	Bytes      int64     `json:"bytes"`
	From       time.Time `json:"from"` // the time at which the rules begin to delete them
}

// MovedMeetings returns the meetings that the last look at the rules left to wait, or nil.
func (a *Archive) MovedMeetings() *MovedMeetings {
	if m := a.moved.Load(); m != nil && m.Meetings > 0 {
		return m
	}
	return nil
}

// KnowsMoved reports whether this process has looked at the rules, so that [Archive.MovedMeetings]
// is known.
func (a *Archive) KnowsMoved() bool { return a.moved.Load() != nil }

// countMoved counts those of expired that wait.
func countMoved(expired []Expired) *MovedMeetings {
	m := &MovedMeetings{}
	for _, e := range expired {
		if e.WaitsUntil.IsZero() {
			continue
		}
		m.Meetings++
		m.Recordings += e.Recordings
		m.Bytes += e.Bytes
		if m.From.IsZero() || e.WaitsUntil.Before(m.From) {
			m.From = e.WaitsUntil
		}
	}
	return m
}

// terms are the values of a meeting by which rules choose.
type terms struct {
	kind, team string
	start      int64 // in milliseconds; 0: unknown
}

// termsOf returns the terms in the bytes of a part "meeting".
func termsOf(raw json.RawMessage) terms {
	m := decodeLenient[api.Meeting](raw)
	start := timeColumn(cmp.Or(m.RecordingStartTime, m.ScheduledStartTime, m.CreatedAt))
	return terms{m.MeetingType.Or(""), m.RecordedBy.Team.Or(""), start.Int64}
}

// newestTerms returns the terms of a meeting by its newest reads: those that its row would have
// if the reads of every account counted. In the row, a value that comes back to an account
// counts only where that account is the home (docs/merging.md).
func (a *Archive) newestTerms(ctx context.Context, tx *sql.Tx, id int64, versions []*merge.Version) (terms, error) {
	merged, err := a.mergeAt(ctx, tx, id, api.PartMeeting, merge.AsRead(versions), math.MaxInt64)
	return termsOf(merged.Raw), err
}

// noteRead notes the terms by the newest reads, which were those of before, where a read of
// version v has changed them. While a version is unreadable, the rules keep the recordings anyway.
func (t *applying) noteRead(id int64, v *merge.Version, before, now []*merge.Version) error {
	before, now = merge.AsRead(before), merge.AsRead(now)
	if merge.HaveSameOrder(before, now) {
		return nil
	}
	same, former, newest := false, terms{}, terms{}
	var err error
	if last := merge.Greatest(before); merge.Greatest(now).ID == v.ID { // nearly always, and it comes before all others
		var gists map[int64]merge.Gist
		gists, err = t.archive.readGists(t.Context(), t.Tx(), []*merge.Version{last, v})
		same = gists[last.ID].HasTerms(gists[v.ID])
	}
	if err == nil && !same {
		former, err = t.archive.newestTerms(t.Context(), t.Tx(), id, before)
	}
	if err == nil && !same {
		newest, err = t.archive.newestTerms(t.Context(), t.Tx(), id, now)
	}
	switch {
	case errors.Is(err, ErrUnreadable):
		return nil
	case err != nil || former == newest:
		return err
	}
	return t.noteFormer(id, former)
}

// noteFormer notes terms that a meeting had, unless its row has them. A row without any, in
// which a new meeting begins, counts where the meeting has a recording.
func (t *applying) noteFormer(id int64, f terms) error {
	_, err := t.Exec(`INSERT OR REPLACE INTO former_terms (recording_id, meeting_type, team, start_at) SELECT ?1, ?2, ?3, ?4
		FROM meetings WHERE recording_id = ?1 AND (meeting_type, recorded_by_team, sort_at) <> (?2, ?3, ?4)
			AND ((?2, ?3, ?4) <> ('', '', 0) OR EXISTS (SELECT 1 FROM attachments WHERE recording_id = ?1))`, id, f.kind, f.team, f.start)
	return err
}

// readTerms reads the terms of a meeting's row.
func (t *applying) readTerms(id int64) (r terms, err error) {
	_, err = t.Scan(`SELECT meeting_type, recorded_by_team, sort_at FROM meetings WHERE recording_id = ?`, []any{id}, &r.kind, &r.team, &r.start)
	return r, err
}

// noticeFormer begins the notice of the terms that have become former ones since the rules last
// ran, and drops those that have been known for movedNotice. ran is that of the confirmed clock.
func (a *Archive) noticeFormer(ctx context.Context, ran time.Duration) error {
	return a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM former_terms WHERE noticed_ran <= ?`, ran-movedNotice)
		if err == nil {
			_, err = tx.ExecContext(ctx, `UPDATE former_terms SET noticed_ran = ? WHERE noticed_ran IS NULL`, ran)
		}
		return err
	})
}

// acceptFormer ends the notice of all meetings.
func (a *Archive) acceptFormer(ctx context.Context) error {
	_, err := a.db.ExecContext(ctx, `DELETE FROM former_terms`)
	return err
}

// leaveKept returns those of expired whose recordings the newest reads do not keep, with
// WaitsUntil where the rules keep them by former terms.
func (a *Archive) leaveKept(ctx context.Context, tx *sql.Tx, expired []Expired, rules []RetentionRule, ran time.Duration, now time.Time) (left []Expired, err error) {
	t := newApplying(a, sqlite.NewStatements(ctx, tx))
	for _, e := range expired {
		kept, err := t.keepNewest(e.RecordingID, rules, now)
		if err == nil && kept {
			continue
		}
		if err == nil {
			err = t.Each(`SELECT meeting_type, team, start_at, coalesce(noticed_ran, ?2) FROM former_terms WHERE recording_id = ?1`,
				[]any{e.RecordingID, ran}, func(rows *sql.Rows) error {
					var f terms
					var noticed time.Duration
					err := rows.Scan(&f.kind, &f.team, &f.start, &noticed)
					until := a.now().Add(movedNotice - (ran - noticed)).UTC()
					if err == nil && ruleFor(rules, f, now) == 0 && until.After(e.WaitsUntil) {
						e.WaitsUntil = until
					}
					return err
				})
		}
		if err != nil {
			return nil, fmt.Errorf("read how meeting %d was shown: %w", e.RecordingID, err)
		}
		left = append(left, e)
	}
	return left, nil
}

// keepNewest reports whether the rules keep the recordings of a meeting by its newest reads, where
// these may say something else than its row, or cannot be read.
func (t *applying) keepNewest(id int64, rules []RetentionRule, now time.Time) (bool, error) {
	versions, err := t.readVersions(id, api.PartMeeting)
	if err != nil || !slices.ContainsFunc(versions, func(v *merge.Version) bool { return v.CountsAt != 0 }) {
		return false, err
	}
	newest, err := t.archive.newestTerms(t.Context(), t.Tx(), id, versions)
	if errors.Is(err, ErrUnreadable) {
		return true, nil
	}
	return err == nil && ruleFor(rules, newest, now) == 0, err
}
