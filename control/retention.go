package control

import (
	"context"
	"fmt"
	"slices"

	"minutebook/archive"
)

// RetentionRequest asks for the retention rules to be applied. Each meeting that
// they are about is an event, an archive.Expired.
type RetentionRequest struct {
	DryRun bool `json:"dry_run"` // only tell what the rules would delete
	Apply  bool `json:"apply"`   // do not let new rules wait
	// Rules are those of the configuration that the command was given; nil: it
	// was given none, and those of the process that answers are meant.
	Rules *[]archive.RetentionRule `json:"rules,omitempty"`
}

// RetentionResult is what was deleted, or would be.
type RetentionResult struct {
	Rules      int   `json:"rules"`
	Meetings   int   `json:"meetings"`
	Recordings int   `json:"recordings"`
	Bytes      int64 `json:"bytes"`
	// Waiting: the rules are new or wider than they were, and deleted only what
	// the rules before them delete too.
	Waiting bool `json:"waiting,omitempty"`
}

func (h House) retention(ctx context.Context, q RetentionRequest, emit Emit) (RetentionResult, error) {
	rules := h.Retention
	if q.Rules != nil {
		rules = *q.Rules
	}
	r := RetentionResult{Rules: len(rules)}
	each := func(e archive.Expired) {
		r.Meetings++
		r.Recordings += e.Recordings
		r.Bytes += e.Bytes
		_ = emit(e)
	}
	if q.DryRun {
		expired, err := h.Archive.Expired(ctx, rules)
		for _, e := range expired {
			each(e)
		}
		return r, err
	}
	if !sameRules(rules, h.Retention) {
		return r, fmt.Errorf("apply %d retention rules: the daemon runs with other rules; restart it with them first, and see them with --dry-run", len(rules))
	}
	if q.Apply {
		if err := h.Archive.AcceptRetention(ctx, rules); err != nil {
			return r, err
		}
	}
	if h.Configuration.Path == "" && len(rules) == 0 {
		return r, nil // a folder alone says nothing about its rules
	}
	var err error
	r.Waiting, err = h.Archive.RetainDue(ctx, rules, each)
	return r, err
}

func sameRules(a, b []archive.RetentionRule) bool {
	return slices.EqualFunc(a, b, func(a, b archive.RetentionRule) bool {
		return a.MediaAfter == b.MediaAfter && slices.Equal(a.Types, b.Types) && slices.Equal(a.Teams, b.Teams)
	})
}

// retentionHold tells how the rules stand; nil where there are none.
func (h House) retentionHold(ctx context.Context) (*archive.RetentionHold, error) {
	if h.Configuration.Path == "" && len(h.Retention) == 0 {
		return nil, nil
	}
	hold, err := h.Archive.ShowRetention(ctx, h.Retention)
	if err != nil || hold.Rules == 0 {
		return nil, err
	}
	return &hold, nil
}
