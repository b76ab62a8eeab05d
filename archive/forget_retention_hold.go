package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// RetentionNotice is how long new rules wait once status has shown them.
const RetentionNotice = 24 * time.Hour

// retentionKey is the mark with the state of the rules.
const retentionKey = "retention-rules"

// knownRules are the rules that were last configured, and those before them that
// were in force. In a crash it is as it was before or after a change of rules;
// either way nothing is deleted that both would not delete.
type knownRules struct {
	Rules    []RetentionRule `json:"rules"`
	ShownAt  time.Time       `json:"shown_at,omitzero"`
	Accepted bool            `json:"accepted,omitempty"`
	Before   []RetentionRule `json:"before,omitempty"`
}

// RetentionHold tells how the rules stand.
type RetentionHold struct {
	Rules      int       `json:"rules"`
	Waiting    bool      `json:"waiting"`       // new or wider rules wait for From or for consent
	From       time.Time `json:"from,omitzero"` // when they begin to delete
	Meetings   int       `json:"meetings"`      // that the waiting rules would delete from
	Recordings int       `json:"recordings"`
	Bytes      int64     `json:"bytes"`
}

func (k *knownRules) inForce(now time.Time) bool {
	return k.Accepted || len(k.Rules) == 0 || !k.ShownAt.IsZero() && now.Sub(k.ShownAt) >= RetentionNotice
}

// take makes rules the configured ones. Rules that delete no more than the last
// ones go on where those were; others begin to wait.
func (k *knownRules) take(rules []RetentionRule, now time.Time) {
	if k.ShownAt.After(now) {
		k.ShownAt = now // a clock was set back
	}
	if narrows(k.Rules, rules) {
		k.Rules = rules
		return
	}
	before := k.Before
	if k.inForce(now) {
		before = k.Rules
	}
	*k = knownRules{Rules: rules, Before: before}
}

// narrows tells whether rules delete nothing that the old ones would not delete:
// they are the old ones or the first of them, each with the same or a greater
// age. Of other changes it says that they do not.
func narrows(old, rules []RetentionRule) bool {
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

// known reads what is known of the rules after change has seen it, and keeps
// what change made of it.
func (a *Archive) knownRules(ctx context.Context, rules []RetentionRule, change func(*knownRules, time.Time)) (knownRules, error) {
	a.retention.Lock()
	defer a.retention.Unlock()
	var k knownRules
	was, err := a.Mark(ctx, retentionKey)
	if err != nil {
		return k, err
	}
	if was != nil {
		if err := json.Unmarshal(was, &k); err != nil {
			return k, fmt.Errorf("read what is known of the retention rules: %w", err)
		}
	}
	now := a.now().UTC()
	k.take(rules, now)
	change(&k, now)
	value, err := json.Marshal(k)
	if err != nil || string(value) == string(was) || was == nil && len(rules) == 0 {
		return k, err
	}
	return k, a.SetMarks(ctx, Mark{Key: retentionKey, Value: value})
}

// AcceptRetention puts rules in force at once.
func (a *Archive) AcceptRetention(ctx context.Context, rules []RetentionRule) error {
	_, err := a.knownRules(ctx, rules, func(k *knownRules, _ time.Time) { k.Accepted = true })
	return err
}

// ShowRetention tells how the rules stand, for status: new rules begin to delete
// RetentionNotice after it first told of them.
func (a *Archive) ShowRetention(ctx context.Context, rules []RetentionRule) (RetentionHold, error) {
	k, err := a.knownRules(ctx, rules, func(k *knownRules, now time.Time) {
		if k.ShownAt.IsZero() {
			k.ShownAt = now
		}
	})
	h := RetentionHold{Rules: len(rules)}
	if err != nil || k.inForce(a.now()) {
		return h, err
	}
	h.Waiting, h.From = true, k.ShownAt.Add(RetentionNotice)
	expired, err := a.Expired(ctx, rules)
	for _, e := range expired {
		h.Meetings++
		h.Recordings += e.Recordings
		h.Bytes += e.Bytes
	}
	return h, err
}

// RetainDue is Retain for rules that were not accepted by hand: where they wait,
// it deletes only what the rules before them delete too, and waiting is true.
func (a *Archive) RetainDue(ctx context.Context, rules []RetentionRule, done func(Expired)) (waiting bool, err error) {
	k, err := a.knownRules(ctx, rules, func(*knownRules, time.Time) {})
	if err != nil {
		return false, err
	}
	if k.inForce(a.now()) {
		return false, a.Retain(ctx, rules, done)
	}
	old, err := a.Expired(ctx, k.Before)
	if err != nil {
		return true, err
	}
	due := map[int64]bool{}
	for _, e := range old {
		due[e.RecordingID] = true
	}
	return true, a.retain(ctx, rules, func(e Expired) bool { return due[e.RecordingID] }, done)
}
