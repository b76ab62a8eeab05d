package archive

import (
	"bytes"
	"context"
	"encoding/json"
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
	// AcceptedAt is when a person last accepted the rules, see Archive.setWaits.
	AcceptedAt time.Time       `json:"accepted_at,omitzero"`
	Before     []RetentionRule `json:"before,omitempty"`
}

// RetentionHold is the state of the rules.
type RetentionHold struct {
	Rules      int       `json:"rules"`
	Waiting    bool      `json:"waiting"`       // new or wider rules wait for From or for consent
	From       time.Time `json:"from,omitzero"` // the time at which they begin to delete
	Meetings   int       `json:"meetings"`      // from which the waiting rules would delete
	Recordings int       `json:"recordings"`
	Bytes      int64     `json:"bytes"`
	// ClockAhead is the lead of a clock that is not confirmed: the rules delete as if it
	// were earlier by that. 0: there is no doubt.
	ClockAhead time.Duration `json:"clock_ahead,omitempty"`
	// Moved are meetings that rules in force would delete from and that wait, since the
	// service has changed their team or type.
	Moved        *MovedMeetings `json:"moved,omitempty"`
	UnknownNames []UnknownName  `json:"unknown_names,omitempty"`
}

func (k *knownRules) isInForce() bool {
	return k.Accepted || len(k.Rules) == 0 || k.Waited >= retentionNotice
}

// adopt makes rules the configured ones. Rules that delete no more than the last ones
// continue their state. Other rules begin to wait.
func (k *knownRules) adopt(rules []RetentionRule) {
	if isNarrower(k.Rules, rules) {
		k.Rules = rules
		return
	}
	before := k.Before
	if k.isInForce() {
		before = k.Rules
	}
	*k = knownRules{Rules: rules, Before: before}
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

// updateRules reads the known rules, applies change to them and stores the result. The
// clock is the confirmed one.
func (a *Archive) updateRules(ctx context.Context, rules []RetentionRule, change func(*knownRules, time.Time)) (k knownRules, c confirmedClock, err error) {
	a.retention.Lock()
	defer a.retention.Unlock()
	previous, err := a.Mark(ctx, retentionKey)
	if err != nil || previous == nil && len(rules) == 0 {
		return k, c, err
	}
	if previous != nil {
		if err := json.Unmarshal(previous, &k); err != nil {
			return k, c, fmt.Errorf("read the state of the retention rules: %w", err)
		}
		if !bytes.Contains(previous, []byte(`"waited":`)) && !k.ShownAt.IsZero() { // of a version that trusted the clock
			k.Waited = max(a.now().Sub(k.ShownAt), 0)
		}
	}
	c, ran, err := a.readClock(ctx)
	if err != nil {
		return k, c, err
	}
	if !k.ShownAt.IsZero() && !k.isInForce() {
		k.Waited += ran
	}
	k.adopt(rules)
	change(&k, a.now().UTC())
	value, err := json.Marshal(k)
	if err != nil || string(value) == string(previous) {
		return k, c, err
	}
	return k, c, a.SetMarks(ctx, Mark{Key: retentionKey, Value: value})
}

// AcceptRetention puts rules in force at once, by the clock as it is.
func (a *Archive) AcceptRetention(ctx context.Context, rules []RetentionRule) error {
	if err := a.confirmClock(ctx); err != nil {
		return err
	}
	_, _, err := a.updateRules(ctx, rules, func(k *knownRules, now time.Time) { k.Accepted, k.AcceptedAt = true, now })
	return err
}

// ShowRetention returns the state of the rules, for status. New rules begin to delete
// retentionNotice after ShowRetention first returned them.
func (a *Archive) ShowRetention(ctx context.Context, rules []RetentionRule) (RetentionHold, error) {
	k, clock, err := a.updateRules(ctx, rules, func(k *knownRules, now time.Time) {
		if k.ShownAt.IsZero() {
			k.ShownAt = now
		}
	})
	h := RetentionHold{Rules: len(rules), ClockAhead: clock.Ahead, Moved: a.MovedMeetings()}
	if err != nil {
		return h, err
	}
	if h.UnknownNames, err = a.UnknownNames(ctx, rules); err != nil || k.isInForce() {
		return h, err
	}
	h.Waiting, h.From = true, a.now().Add(retentionNotice-k.Waited)
	expired, err := a.Expired(ctx, rules)
	for _, e := range expired {
		h.Meetings++
		h.Recordings += e.Recordings
		h.Bytes += e.Bytes
	}
	return h, err
}

// DeleteExpired deletes the recordings of the meetings that [Archive.Expired] returns,
// and calls done after each meeting. While the rules wait, it deletes only recordings
// that the rules before them delete too, and waiting is true. A clock that is set ahead
// ages no meeting, see confirmedClock. Meetings that WaitsUntil holds are left, see
// [Archive.MovedMeetings].
func (a *Archive) DeleteExpired(ctx context.Context, rules []RetentionRule, done func(Expired)) (waiting bool, err error) {
	k, clock, err := a.updateRules(ctx, rules, func(*knownRules, time.Time) {})
	if err != nil {
		return false, err
	}
	waiting = !k.isInForce()
	expired, err := a.expiredAt(ctx, rules, clock.At, k.AcceptedAt)
	if err != nil {
		return waiting, err
	}
	may := func(e Expired) bool { return e.WaitsUntil.IsZero() }
	if !waiting {
		a.moved.Store(countMoved(expired))
		return false, a.deleteExpired(ctx, expired, may, done)
	}
	before, err := a.expiredAt(ctx, k.Before, clock.At, time.Time{})
	if err != nil {
		return true, err
	}
	a.moved.Store(countMoved(before))
	due := map[int64]bool{}
	for _, e := range before {
		due[e.RecordingID] = may(e)
	}
	return true, a.deleteExpired(ctx, expired, func(e Expired) bool { return may(e) && due[e.RecordingID] }, done)
}
