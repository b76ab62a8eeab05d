package archive

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// retentionNotice is the time for which new rules wait once status has shown them. Only
// time counts in which a process ran with this archive open, so that a clock that is
// set ahead ends no wait.
const retentionNotice = 24 * time.Hour

// retentionKey is the mark with the known rules.
const retentionKey = "retention-rules"

// knownRules are the last configured rules, and the rules in force before them. After
// a crash it is in the state before or after a change of rules. In both states nothing
// is deleted that the other would keep.
type knownRules struct {
	Rules    []RetentionRule `json:"rules"`
	ShownAt  time.Time       `json:"shown_at,omitzero"`
	Waited   time.Duration   `json:"waited"` // since they were shown, see retentionNotice
	Accepted bool            `json:"accepted,omitempty"`
	Before   []RetentionRule `json:"before,omitempty"`
	Ran      time.Duration   `json:"ran"` // that of the confirmed clock
}

// RetentionHold is the state of the rules.
type RetentionHold struct {
	Rules      int       `json:"rules"`
	Waiting    bool      `json:"waiting"`       // new or wider rules wait for From or for consent
	From       time.Time `json:"from,omitzero"` // the time at which they begin to delete; zero until a person was shown them
	Meetings   int       `json:"meetings"`      // from which the waiting rules would delete
	Recordings int       `json:"recordings"`
	Bytes      int64     `json:"bytes"`
	// ClockAhead is the lead of a clock that is not confirmed: the rules delete as if it
	// were earlier by that. 0: there is no doubt.
	ClockAhead time.Duration `json:"clock_ahead,omitempty"`
	// Moved are meetings that rules in force would delete from and that wait, since the
	// service has changed their team, type or start.
	Moved        *MovedMeetings `json:"moved,omitempty"`
	UnknownNames []UnknownName  `json:"unknown_names,omitempty"`
}

func (k *knownRules) isInForce() bool {
	return k.Accepted || len(k.Rules) == 0 || k.Waited >= retentionNotice
}

// inForce returns the rules that delete.
func (k *knownRules) inForce() []RetentionRule {
	if k.isInForce() {
		return k.Rules
	}
	return k.Before
}

// adopt makes rules the configured ones. Rules that delete no more than the last ones
// continue their state. Other rules begin to wait.
func (k *knownRules) adopt(rules []RetentionRule) {
	if isNarrower(k.Rules, rules) {
		k.Rules = rules
		return
	}
	*k = knownRules{Rules: rules, Before: k.inForce(), Ran: k.Ran}
}

// isNarrower reports whether rules delete nothing that the old rules would keep: they are
// the old ones or the first of them, each with the same or a greater age. It reports
// false for all other changes.
func isNarrower(old, rules []RetentionRule) bool {
	if len(rules) > len(old) {
		return false
	}
	for i, r := range rules {
		o := old[i]
		if !slices.Equal(o.Types, r.Types) || !slices.Equal(o.Teams, r.Teams) {
			return false
		}
		if r.MediaAfter > 0 && (o.MediaAfter <= 0 || r.MediaAfter < o.MediaAfter) {
			return false
		}
	}
	return true
}

// readRules returns the known rules as they are stored, and as bytes, nil when there are
// none.
func (a *Archive) readRules(ctx context.Context) (k knownRules, stored []byte, err error) {
	if stored, err = a.Mark(ctx, retentionKey); err == nil && stored != nil {
		if err = json.Unmarshal(stored, &k); err != nil {
			err = fmt.Errorf("read the state of the retention rules: %w", err)
		}
	}
	return k, stored, err
}

// updateRules reads the known rules, applies change to them and stores the result. The
// clock is the confirmed one.
func (a *Archive) updateRules(ctx context.Context, rules []RetentionRule, change func(*knownRules)) (k knownRules, c confirmedClock, err error) {
	if err := a.retention.Acquire(ctx, 1); err != nil {
		return k, c, fmt.Errorf("update the retention rules: %w", err)
	}
	defer a.retention.Release(1)
	k, previous, err := a.readRules(ctx)
	if err != nil || previous == nil && len(rules) == 0 {
		return k, c, err
	}
	if previous == nil { // the first rules wait anyway
		if err := a.acceptFormer(ctx); err != nil {
			return k, c, err
		}
	} else if !bytes.Contains(previous, []byte(`"waited":`)) && !k.ShownAt.IsZero() { // of a version that trusted the clock
		k.Waited = max(a.now().Sub(k.ShownAt), 0)
	}
	if c, err = a.readClock(ctx); err != nil {
		return k, c, err
	}
	if !k.ShownAt.IsZero() && !k.isInForce() {
		k.Waited += max(c.Ran-k.Ran, 0)
	}
	k.Ran = c.Ran
	k.adopt(rules)
	change(&k)
	value, err := json.Marshal(k)
	if err != nil || string(value) == string(previous) {
		return k, c, err
	}
	return k, c, a.SetMarks(ctx, Mark{Key: retentionKey, Value: value})
}

// restoreRules has the rules of a restored archive wait like new ones: the service may have
// changed, since the copy was made, the team or type by which they keep a meeting's recordings.
func restoreRules(ctx context.Context, tx *sql.Tx) error {
	var value []byte
	err := tx.QueryRowContext(ctx, `SELECT value FROM marks WHERE key = ?`, retentionKey).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	var k knownRules
	if err == nil {
		err = json.Unmarshal(value, &k)
	}
	if err == nil {
		value, err = json.Marshal(knownRules{Ran: k.Ran})
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE marks SET value = ? WHERE key = ?`, value, retentionKey)
	}
	if err != nil {
		return fmt.Errorf("have the retention rules wait: %w", err)
	}
	return nil
}

// AcceptRetention puts rules in force at once, by the clock as it is.
func (a *Archive) AcceptRetention(ctx context.Context, rules []RetentionRule) error {
	if err := a.confirmClock(ctx); err != nil {
		return err
	}
	_, _, err := a.updateRules(ctx, rules, func(k *knownRules) { k.Accepted = true })
	if err == nil {
		err = a.acceptFormer(ctx)
	}
	return err
}

// ShowRetention returns the state of the rules, for a person. New rules begin to delete
// retentionNotice after ShowRetention first returned them.
func (a *Archive) ShowRetention(ctx context.Context, rules []RetentionRule) (RetentionHold, error) {
	return a.readHold(ctx, rules, true)
}

// LookAtRetention returns the state of the rules where perhaps no person sees it.
func (a *Archive) LookAtRetention(ctx context.Context, rules []RetentionRule) (RetentionHold, error) {
	return a.readHold(ctx, rules, false)
}

func (a *Archive) readHold(ctx context.Context, rules []RetentionRule, shown bool) (RetentionHold, error) {
	k, clock, err := a.updateRules(ctx, rules, func(k *knownRules) {
		if shown && k.ShownAt.IsZero() {
			k.ShownAt = a.now().UTC()
		}
	})
	h := RetentionHold{Rules: len(rules), ClockAhead: clock.Ahead}
	if err == nil && a.moved.Load() == nil { // as without a daemon
		_, err = a.lookForExpired(ctx, k, clock)
	}
	if err != nil {
		return h, err
	}
	h.Moved = a.MovedMeetings()
	if h.Waiting = !k.isInForce(); h.Waiting && !k.ShownAt.IsZero() {
		h.From = a.now().Add(retentionNotice - k.Waited).Truncate(time.Minute)
	}
	// An open page of the status asks every few seconds, and to count is to read all meetings.
	key := fmt.Sprintf("%t %v %#v", h.Waiting, a.now().Truncate(time.Hour), rules)
	counted, err := a.holds.Get(key, func() (c RetentionHold, err error) {
		if c.UnknownNames, err = a.UnknownNames(ctx, rules); err != nil || !h.Waiting {
			return c, err
		}
		expired, err := a.Expired(ctx, rules)
		for _, e := range expired {
			c.Meetings++
			c.Recordings += e.Recordings
			c.Bytes += e.Bytes
		}
		return c, err
	})
	h.Meetings, h.Recordings, h.Bytes, h.UnknownNames = counted.Meetings, counted.Recordings, counted.Bytes, counted.UnknownNames
	return h, err
}

// DeleteExpired deletes the recordings of the meetings that [Archive.Expired] returns,
// and calls done after each meeting. While the rules wait, it deletes only recordings
// that the rules before them delete too, and waiting is true. A clock that is set ahead
// ages no meeting, see confirmedClock. Meetings that WaitsUntil holds are left, see
// [Archive.MovedMeetings], and so are those that the service changes meanwhile, and the rest
// when other rules are configured meanwhile.
func (a *Archive) DeleteExpired(ctx context.Context, rules []RetentionRule, done func(Expired)) (waiting bool, err error) {
	k, clock, err := a.updateRules(ctx, rules, func(*knownRules) {})
	if err == nil {
		err = a.noticeFormer(ctx, k.Ran)
	}
	if err != nil {
		return false, err
	}
	waiting = !k.isInForce()
	expired, err := a.lookForExpired(ctx, k, clock)
	expired = slices.DeleteFunc(expired, func(e Expired) bool { return !e.WaitsUntil.IsZero() })
	if err != nil {
		return waiting, err
	}
	return waiting, a.deleteExpired(ctx, expired, func(tx *sql.Tx, e *Expired) (bool, error) {
		if now, _, err := a.readRules(ctx); err != nil || !isNarrower(now.Rules, rules) { // others were configured meanwhile
			return false, err
		}
		for _, r := range [][]RetentionRule{k.inForce(), rules} {
			still, err := a.findExpired(ctx, tx, e.RecordingID, r, k.Ran, clock.At)
			if err != nil || len(still) == 0 || !still[0].WaitsUntil.IsZero() {
				return false, err
			}
			*e = still[0]
		}
		return true, nil
	}, done)
}

// lookForExpired returns the meetings from which the rules in force delete, and counts for
// MovedMeetings those that wait.
func (a *Archive) lookForExpired(ctx context.Context, k knownRules, clock confirmedClock) ([]Expired, error) {
	expired, err := a.expiredAt(ctx, k.inForce(), k.Ran, clock.At)
	if err == nil {
		a.moved.Store(countMoved(expired))
	}
	return expired, err
}

// HasExpired reports whether a retention rule has deleted the recordings of a meeting, and the rules
// of the last run would delete another one: nobody needs to store it.
func (a *Archive) HasExpired(ctx context.Context, id int64) (bool, error) {
	d, err := a.DownloadOf(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && d.State != DownloadDeleted {
		return false, nil
	}
	var k knownRules
	if err == nil {
		k, _, err = a.readRules(ctx)
	}
	var now time.Time
	if err == nil {
		now, err = a.ConfirmedTime(ctx)
	}
	var expired []Expired
	if err == nil {
		err = a.db.ReadTx(ctx, func(tx *sql.Tx) (err error) {
			expired, err = a.findExpired(ctx, tx, id, k.Rules, k.Ran, now)
			return err
		})
	}
	if err != nil {
		return false, fmt.Errorf("look whether the recording of %d has expired: %w", id, err)
	}
	return len(expired) > 0, nil
}
