package archive

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"minutebook/internal/sqlite"
)

// movedNotice is how long the recordings of a meeting wait after the service gave the
// meeting another team or type, when the rules would keep the recordings by the former
// one. A team that is renamed or merged at the service must not delete what a rule
// with its old name keeps.
const movedNotice = 7 * day

const day = 24 * time.Hour

// MovedMeetings counts the meetings whose recordings wait for movedNotice.
type MovedMeetings struct {
	Meetings   int       `json:"meetings"`
	Recordings int       `json:"recordings"`
	Bytes      int64     `json:"bytes"`
	From       time.Time `json:"from"` // the time at which the rules begin to delete them
}

// MovedMeetings returns the meetings that the last run of the rules left to wait, or nil.
func (a *Archive) MovedMeetings() *MovedMeetings { return a.moved.Load() }

// countMoved counts those of expired that wait.
func countMoved(expired []Expired) *MovedMeetings {
	var m MovedMeetings
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
	if m.Meetings == 0 {
		return nil
	}
	return &m
}

// setWaits finds the meetings that a change of team or type made to expire less than
// movedNotice before now. A person who accepted the rules later than that has seen it.
func (a *Archive) setWaits(ctx context.Context, expired []Expired, rules []RetentionRule, now, accepted time.Time) error {
	if !slices.ContainsFunc(rules, func(r RetentionRule) bool { return len(r.Types)+len(r.Teams) > 0 }) {
		return nil
	}
	var logged map[int64]int64 // read when a meeting needs it
	for i := range expired {
		e := &expired[i]
		shown, err := a.readShowings(ctx, e, func(kind, team string) bool {
			return ruleFor(rules, kind, team, now.Sub(e.Start)) == 0
		})
		if err != nil {
			return fmt.Errorf("read how meeting %d was shown: %w", e.RecordingID, err)
		}
		moved, again := moveTime(shown)
		if again && logged == nil {
			if logged, err = a.lastChanges(ctx, now.Add(-movedNotice)); err != nil {
				return err
			}
		}
		if again {
			moved = max(moved, logged[e.RecordingID])
		}
		if moved == 0 {
			continue
		}
		at := sqlite.Time(moved)
		if until := at.Add(movedNotice); at.After(accepted) && until.After(now) {
			e.WaitsUntil = until.UTC()
		}
	}
	return nil
}

// lastChanges returns when the row of each meeting that changed after since did so last.
func (a *Archive) lastChanges(ctx context.Context, since time.Time) (map[int64]int64, error) {
	last := map[int64]int64{}
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var id, at int64
		err := rows.Scan(&id, &at)
		last[id] = at
		return err
	}, `SELECT recording_id, max(at) FROM changes WHERE at > ? AND kind = ? AND part = 'meeting' GROUP BY recording_id`, since.UnixMilli(), ChangePart)
	return last, err
}

// showing is a version of a meeting's row as an account was shown it.
type showing struct {
	account     string
	first, last int64
	kept        bool // the rules keep the recordings by it
}

// readShowings returns the versions of a meeting's row, and none where there is only one, as
// of nearly all meetings.
func (a *Archive) readShowings(ctx context.Context, e *Expired, keeps func(kind, team string) bool) (shown []showing, err error) {
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var s showing
		var encoding int
		var body []byte
		if err := rows.Scan(&s.account, &s.first, &s.last, &encoding, &body); err != nil {
			return err
		}
		raw, err := a.codec.unpack(encoding, body)
		if err != nil {
			return err
		}
		var row struct {
			MeetingType string `json:"meeting_type"`
			RecordedBy  struct {
				Team string `json:"team"`
			} `json:"recorded_by"`
		}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil // it names neither a team nor a type
		}
		s.kept = keeps(cmp.Or(row.MeetingType, e.kind), cmp.Or(row.RecordedBy.Team, e.team)) // an empty one replaces none
		shown = append(shown, s)
		return nil
	}, `SELECT o.account, o.first_at, o.last_at, b.encoding, b.body FROM revisions r
		JOIN bodies b ON b.revision_id = r.id JOIN observations o ON o.revision_id = r.id
		WHERE r.recording_id = ?1 AND r.part = 'meeting'
			AND (SELECT count(*) FROM revisions WHERE recording_id = ?1 AND part = 'meeting') > 1`, e.RecordingID)
	return shown, err
}

// moveTime returns when a meeting came to be shown in a way by which the rules do not keep
// its recordings, after one by which they do; 0 where it never did. again means that this
// way was known from before, and may have come back later than that.
func moveTime(shown []showing) (moved int64, again bool) {
	for _, former := range shown {
		if !former.kept {
			continue
		}
		began := map[string]int64{} // by account
		for _, s := range shown {
			if first, ok := began[s.account]; !s.kept && (s.account != former.account || s.last > former.last) && (!ok || s.first < first) {
				began[s.account] = s.first
			}
		}
		for account, first := range began {
			switch {
			case account == former.account:
				again = again || first <= former.last
				moved = max(moved, first, former.last)
			case first > former.first: // the accounts may differ for good: only the beginning counts
				moved = max(moved, first)
			}
		}
	}
	return moved, again
}
