package control

import (
	"context"
	"fmt"
	"slices"

	"github.com/rs/zerolog"

	"minutebook/archive"
)

// RetentionRequest asks for the retention rules to be applied. The events are the
// meetings whose recordings expired, each an [archive.Expired].
type RetentionRequest struct {
	DryRun bool `json:"dry_run"` // report the deletions without making them
	Apply  bool `json:"apply"`   // apply new rules without waiting
	// Rules are those of the command's configuration. nil: the command has none,
	// and the rules of the answering process are meant.
	Rules *[]archive.RetentionRule `json:"rules,omitempty"`
}

// RetentionResult counts the deletions, made or previewed.
type RetentionResult struct {
	Rules      int   `json:"rules"`
	Meetings   int   `json:"meetings"`
	Recordings int   `json:"recordings"`
	Bytes      int64 `json:"bytes"`
	// Waiting is true while the rules are new or wider than the rules before them.
	// Until then they delete only recordings that those rules delete too.
	Waiting bool `json:"waiting,omitempty"`
	// Moved are meetings that are left to wait, since the service has changed their team, type
	// or start.
	Moved        *archive.MovedMeetings `json:"moved,omitempty"`
	UnknownNames []archive.UnknownName  `json:"unknown_names,omitempty"`
}

func (h Deps) retention(ctx context.Context, q RetentionRequest, emit Emit) (RetentionResult, error) {
	rules := h.Retention
	if q.Rules != nil {
		rules = *q.Rules
	}
	r := RetentionResult{Rules: len(rules)}
	unknown, err := h.Archive.UnknownNames(ctx, rules)
	if err != nil {
		return r, err
	}
	r.UnknownNames = unknown
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
		return r, fmt.Errorf("apply %d retention rules: the daemon runs with other rules; reload them first, and see them with --dry-run", len(rules))
	}
	if q.Apply {
		if err := h.Archive.AcceptRetention(ctx, rules); err != nil {
			return r, err
		}
	}
	if h.Configuration.Path == "" && len(rules) == 0 {
		return r, nil // without a configuration the rules are unknown
	}
	r.Waiting, err = h.Archive.DeleteExpired(ctx, rules, func(e archive.Expired) {
		LogExpired(h.Logger, e)
		each(e)
	})
	r.Moved = h.Archive.MovedMeetings()
	return r, err
}

// LogExpired logs that a rule deleted the recordings of a meeting.
func LogExpired(log zerolog.Logger, e archive.Expired) {
	log.Info().Int64("recording_id", e.RecordingID).Int("rule", e.Rule).Int64("bytes", e.Bytes).Msg("recordings deleted by a retention rule")
}

func sameRules(a, b []archive.RetentionRule) bool {
	return slices.EqualFunc(a, b, func(a, b archive.RetentionRule) bool {
		return a.MediaAfter == b.MediaAfter && slices.Equal(a.Types, b.Types) && slices.Equal(a.Teams, b.Teams)
	})
}

// retentionHold returns the state of the rules, or nil where there are none. shown: to a
// person.
func (h Deps) retentionHold(ctx context.Context, shown bool) (*archive.RetentionHold, error) {
	if h.Configuration.Path == "" && len(h.Retention) == 0 {
		return nil, nil
	}
	read := h.Archive.LookAtRetention
	if shown {
		read = h.Archive.ShowRetention
	}
	hold, err := read(ctx, h.Retention)
	if err != nil || hold.Rules == 0 {
		return nil, err
	}
	return &hold, nil
}
