package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
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
	named := false
	for _, r := range rules {
		named = named || len(r.Types)+len(r.Teams) > 0
	}
	if !named {
		return nil
	}
	for i := range expired {
		e := &expired[i]
		at, err := a.moveTime(ctx, e, func(kind, team string) bool {
			return ruleFor(rules, kind, team, now.Sub(e.Start)) == 0
		})
		if err != nil {
			return fmt.Errorf("read how meeting %d was shown: %w", e.RecordingID, err)
		}
		if until := at.Add(movedNotice); at.After(accepted) && until.After(now) {
			e.WaitsUntil = until.UTC()
		}
	}
	return nil
}

// showing is a version of a meeting's row as an account was shown it.
type showing struct {
	account     string
	first, last int64
	kept        bool // the rules keep the recordings by it
}

// moveTime returns when an account was first shown the present team and type after
// others by which keeps reports true; zero where none was.
func (a *Archive) moveTime(ctx context.Context, e *Expired, keeps func(kind, team string) bool) (time.Time, error) {
	var shown []showing
	err := sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
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
		kind, team := e.kind, e.team
		row := struct {
			MeetingType *string `json:"meeting_type"`
			RecordedBy  struct {
				Team *string `json:"team"`
			} `json:"recorded_by"`
		}{}
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil // it names neither a team nor a type
		}
		if row.MeetingType != nil {
			kind = *row.MeetingType
		}
		if row.RecordedBy.Team != nil {
			team = *row.RecordedBy.Team
		}
		s.kept = keeps(kind, team)
		shown = append(shown, s)
		return nil
	}, `SELECT o.account, o.first_at, o.last_at, b.encoding, b.body FROM revisions r
		JOIN bodies b ON b.revision_id = r.id JOIN observations o ON o.revision_id = r.id
		WHERE r.recording_id = ? AND r.part = 'meeting'`, e.RecordingID)
	if err != nil {
		return time.Time{}, err
	}
	moved := int64(0)
	for _, former := range shown {
		if !former.kept {
			continue
		}
		began := int64(0)
		for _, s := range shown {
			if s.account == former.account && !s.kept && s.last > former.last && (began == 0 || s.first < began) {
				began = s.first
			}
		}
		if began != 0 {
			moved = max(moved, began, former.last)
		}
	}
	if moved == 0 {
		return time.Time{}, nil
	}
	return sqlite.Time(moved), nil
}
