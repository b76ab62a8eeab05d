package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive"
	"minutebook/control"
)

func (m *Main) retentionCmd() *cobra.Command {
	var q control.RetentionRequest
	cmd := &cobra.Command{
		Use:   "retention [--dry-run]",
		Short: "Delete the recordings that the [retention] rules let go of",
		Long: "Deletes the recordings that are older than the [retention] rules of the\n" +
			"configuration allow. What was said stays. The daemon does it every day.",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			what := "deleted"
			if q.DryRun {
				what = "would be deleted"
			}
			return perform(m, cmd, "retention", q, m.printExpired, func(r control.RetentionResult) error {
				_, err := fmt.Fprintf(m.Stdout, "%d rules: %d recordings of %d meetings, %d bytes, %s\n", r.Rules, r.Recordings, r.Meetings, r.Bytes, what)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&q.DryRun, "dry-run", false, "only say what would be deleted")
	return m.jsonFlag(cmd)
}

// printExpired prints a meeting that a rule is about.
func (m *Main) printExpired(raw json.RawMessage) error {
	var e archive.Expired
	if err := json.Unmarshal(raw, &e); err != nil || m.json {
		return err
	}
	_, err := fmt.Fprintf(m.Stdout, "%d\t%s\t%d bytes\trule %d\t%s\n", e.RecordingID, e.Start.Format(time.DateOnly), e.Bytes, e.Rule, e.Title)
	return err
}

// retention is the configured rules as the archive applies them.
func (h *house) retention() []archive.RetentionRule {
	var rules []archive.RetentionRule
	for _, r := range h.cfg.Retention.Rules {
		rules = append(rules, archive.RetentionRule{MediaAfter: time.Duration(r.MediaAfterDays) * 24 * time.Hour,
			Types: r.MeetingTypes, Teams: r.Teams})
	}
	return rules
}

// retain applies the rules at start and once a day, until ctx ends.
func (d *daemon) retain(ctx context.Context) error {
	rules := d.retention()
	for len(rules) > 0 {
		err := d.archive.Retain(ctx, rules, func(e archive.Expired) {
			d.log.Info().Int64("recording_id", e.RecordingID).Int("rule", e.Rule).Int64("bytes", e.Bytes).Msg("recordings deleted by a retention rule")
		})
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("apply the retention rules")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(24 * time.Hour):
		}
	}
	return nil
}
