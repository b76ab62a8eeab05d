package archive

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"minutebook/api"
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

// notices says which changes of meetings have been known for movedNotice.
type notices struct {
	Ran     time.Duration `json:"ran"`             // that of the confirmed clock
	Noticed int64         `json:"noticed"`         // up to this change of the log they have, or a person has accepted them
	Looks   []look        `json:"looks,omitempty"` // since then, the oldest first
	// Kept are the meetings that only their newest reads keep, see isKept: with 0, or with
	// the Ran at which the rules first saw that these keep them no more.
	Kept map[int64]time.Duration `json:"kept,omitempty"`
}

// look is a run of the rules.
type look struct {
	Seq int64         `json:"seq"` // the last change
	Ran time.Duration `json:"ran"`
}

// look notes that the rules run now, about once in an hour at most.
func (n *notices) look(head int64) {
	for len(n.Looks) > 0 && n.Ran-n.Looks[0].Ran >= movedNotice {
		n.Noticed, n.Looks = n.Looks[0].Seq, n.Looks[1:]
	}
	last := len(n.Looks) - 1
	switch {
	case last < 0 && head == n.Noticed || last >= 0 && head == n.Looks[last].Seq:
	case last > 0 && n.Ran-n.Looks[last-1].Ran < time.Hour:
		n.Looks[last] = look{head, n.Ran}
	default:
		n.Looks = append(n.Looks, look{head, n.Ran})
	}
}

// noteKept notes the meetings that only their newest reads keep now.
func (n *notices) noteKept(now map[int64]time.Duration) {
	for id, ended := range n.Kept {
		if _, ok := now[id]; ok {
			continue
		}
		if ended == 0 {
			ended = n.Ran
		}
		if n.Ran-ended < movedNotice {
			now[id] = ended
		}
	}
	n.Kept = now
}

// wait returns how long a change after Noticed is still to be known.
func (n *notices) wait(seq int64) time.Duration {
	for _, l := range n.Looks {
		if l.Seq >= seq {
			return movedNotice - (n.Ran - l.Ran)
		}
	}
	return movedNotice
}

// setWaits finds the meetings that expire by a change that has not been known for
// movedNotice: those whose row has changed since, or that their newest reads have kept, and of
// which the rules keep the recordings by a row that was shown before.
func (a *Archive) setWaits(ctx context.Context, expired []Expired, rules []RetentionRule, n notices, now time.Time) error {
	if len(expired) == 0 {
		return nil
	}
	changed, err := sqlite.Map[int64, int64](ctx, a.db.R, `SELECT recording_id, max(seq) FROM changes
		WHERE seq > ? AND kind = ? AND part = 'meeting' GROUP BY recording_id`, n.Noticed, ChangePart)
	if err != nil {
		return err
	}
	for i := range expired {
		e := &expired[i]
		seq, moved := changed[e.RecordingID]
		ended, noted := n.Kept[e.RecordingID]
		if noted && ended == 0 || !noted && !moved {
			continue
		}
		var wait time.Duration
		if moved {
			wait = n.wait(seq)
		}
		if noted {
			wait = max(wait, movedNotice-(n.Ran-ended))
		}
		kept, err := a.wasKept(ctx, e, rules, now)
		if err != nil {
			return fmt.Errorf("read how meeting %d was shown: %w", e.RecordingID, err)
		}
		if kept {
			e.WaitsUntil = a.now().Add(wait).UTC()
		}
	}
	return nil
}

// wasKept reports whether a row of the meeting was shown, or cannot be read, by which the
// rules keep its recordings.
func (a *Archive) wasKept(ctx context.Context, e *Expired, rules []RetentionRule, now time.Time) (kept bool, err error) {
	err = a.eachRow(ctx, e, func(m api.Meeting, err error) {
		start := cmp.Or(m.RecordingStartTime, m.ScheduledStartTime, m.CreatedAt, api.Time{Time: e.Start})
		kept = kept || err != nil ||
			ruleFor(rules, cmp.Or(m.MeetingType.Or(""), e.kind), cmp.Or(m.RecordedBy.Team.Or(""), e.team), now.Sub(start.Time)) == 0
	})
	return kept, err
}

// keptByReads returns the meetings that expire, or do so within movedNotice, of which isKept
// then, by the rules in force or by those that may still wait. Of a young meeting too it has to
// be known whether its newest reads keep it: they may keep it no more a moment before it expires,
// and those of rules that wait, as they do after a restore, before these are in force.
func (a *Archive) keptByReads(ctx context.Context, configured []RetentionRule) (map[int64]time.Duration, error) {
	k, _, err := a.readRules(ctx)
	if err != nil {
		return nil, err
	}
	kept := map[int64]time.Duration{}
	for _, rules := range [][]RetentionRule{k.inForce(), configured} {
		if err := a.addKept(ctx, kept, rules, k.notices); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// addKept adds to kept the meetings that only their newest reads keep by some rules.
func (a *Archive) addKept(ctx context.Context, kept map[int64]time.Duration, rules []RetentionRule, n notices) error {
	if !haveNames(rules) {
		return nil
	}
	now := a.now()
	expired, err := a.expiredAt(ctx, rules, n, now.Add(movedNotice))
	for _, e := range expired {
		at := e.Start.Add(e.maxAge)
		if at.Before(now) {
			at = now
		}
		ok, err := a.isKept(ctx, &e, rules, at)
		if err != nil {
			return err
		}
		if ok {
			kept[e.RecordingID] = 0
		}
	}
	return err
}

// haveNames reports whether it depends on a meeting's type or team which rule is its own.
func haveNames(rules []RetentionRule) bool {
	return slices.ContainsFunc(rules, func(r RetentionRule) bool { return len(r.Types)+len(r.Teams) > 0 })
}

// isKept reports whether the rules keep the recordings of a meeting by the team and the type
// that the newest reads name. Its current row may have others: a value that comes back to an
// account counts only where that account is the row's home (docs/merging.md).
func (a *Archive) isKept(ctx context.Context, e *Expired, rules []RetentionRule, now time.Time) (bool, error) {
	if !haveNames(rules) {
		return false, nil
	}
	var kind, team string
	err := a.eachRow(ctx, e, func(m api.Meeting, _ error) {
		kind, team = cmp.Or(kind, m.MeetingType.Or("")), cmp.Or(team, m.RecordedBy.Team.Or(""))
	})
	return ruleFor(rules, cmp.Or(kind, e.kind), cmp.Or(team, e.team), now.Sub(e.Start)) == 0, err
}

// eachRow calls fn with every row of a meeting that was shown, the newest read first, or with
// the error that makes it unreadable. An empty value in it replaced none.
func (a *Archive) eachRow(ctx context.Context, e *Expired, fn func(api.Meeting, error)) error {
	return sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var encoding int
		var body []byte
		if err := rows.Scan(&encoding, &body); err != nil {
			return err
		}
		raw, err := a.codec.unpack(encoding, body)
		fn(decodeLenient[api.Meeting](raw), err)
		return nil
	}, `SELECT b.encoding, b.body FROM revisions r JOIN bodies b ON b.revision_id = r.id
		WHERE r.recording_id = ? AND r.part = 'meeting' ORDER BY r.read_at DESC`, e.RecordingID)
}
