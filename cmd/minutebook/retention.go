package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/phrase"
)

func (m *Main) retentionCmd() *cobra.Command {
	var q control.RetentionRequest
	cmd := &cobra.Command{
		Use:   "retention [--dry-run | --apply]",
		Short: "Delete the recordings that the [retention] rules no longer keep",
		Long: "Deletes the recordings that are older than the [retention] rules of the\n" +
			"configuration allow. What was said stays. The daemon does it every hour.\n\n" +
			"Rules that are new, or delete more than they did, and all after a restore, wait until\n" +
			"the daemon has run for a day after `minutebook status` or an admin's page of it has\n" +
			"first shown them; --apply does not wait.\n" +
			"--dry-run shows what the rules of the configuration given would delete,\n" +
			"also beside a daemon that runs with others.\n\n" +
			"When the service changes the team, type or start of a meeting, so that the rules\n" +
			"no longer keep its recordings, these wait for a week in which the daemon runs, or\n" +
			"for --apply; status and doctor count these meetings. They also tell of a rule whose\n" +
			"team or type nothing has.",
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := m.configFile()
			if err != nil {
				return err
			}
			if file != "" {
				cfg, err := m.loadConfig()
				if err != nil {
					return err
				}
				rules := retentionRules(cfg)
				q.Rules = &rules
			}
			return perform(m, cmd, "retention", q, m.printExpired, func(r control.RetentionResult) error { return m.printRetention(q, r) })
		},
	}
	cmd.Flags().BoolVar(&q.DryRun, "dry-run", false, "only say what would be deleted")
	cmd.Flags().BoolVar(&q.Apply, "apply", false, "do not let new rules wait")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "apply")
	return m.jsonFlag(cmd)
}

func (m *Main) printRetention(q control.RetentionRequest, r control.RetentionResult) error {
	for _, n := range r.UnknownNames {
		fmt.Fprintf(m.Stderr, "minutebook: %s\n", n)
	}
	if r.Rules == 0 {
		_, err := fmt.Fprintln(m.Stdout, "no rules: nothing is ever deleted (see [[retention.rules]] in the configuration)")
		return err
	}
	action := "deleted"
	if q.DryRun {
		action = "would be deleted"
	}
	if _, err := fmt.Fprintf(m.Stdout, "%s: %s of %s, %s, %s\n", phrase.Count(r.Rules, "rule", "rules"),
		phrase.Recordings(r.Recordings), phrase.Meetings(r.Meetings), humanize.Bytes(uint64(r.Bytes)), action); err != nil {
		return err
	}
	if moved := r.Moved; moved != nil {
		if _, err := fmt.Fprintln(m.Stdout, describeMoved(moved)); err != nil {
			return err
		}
	}
	if r.Waiting {
		_, err := fmt.Fprintln(m.Stdout, "the rules are new to this archive, or wider: they wait until a day after status has shown them, or for retention --apply")
		return err
	}
	return nil
}

// describeMoved says which meetings wait, since the service has changed their team, type or start.
func describeMoved(m *archive.MovedMeetings) string {
	return fmt.Sprintf("the service has changed the team, type or start of %s, so that a rule deletes their recordings (%d, %s): the first of them from %s on (see retention --dry-run)",
		phrase.Meetings(m.Meetings), m.Recordings, humanize.Bytes(uint64(m.Bytes)), m.From.Local().Format(time.DateTime))
}

// printExpired prints a meeting whose recordings a rule deletes.
func (m *Main) printExpired(raw json.RawMessage) error {
	var e archive.Expired
	if err := json.Unmarshal(raw, &e); err != nil || m.json {
		return err
	}
	waits := ""
	if !e.WaitsUntil.IsZero() {
		waits = "\tits team, type or start was changed at the service: not before " + e.WaitsUntil.Local().Format(time.DateTime)
	}
	_, err := fmt.Fprintf(m.Stdout, "%d\t%s\t%d bytes\trule %d\t%s%s\n", e.RecordingID, e.Start.Format(time.DateOnly), e.Bytes, e.Rule, phrase.Tame(e.Title), waits)
	return err
}

// retentionRules converts the configured rules to those of the archive.
func retentionRules(cfg *config.Config) []archive.RetentionRule {
	rules := []archive.RetentionRule{}
	for _, r := range cfg.Retention.Rules {
		rules = append(rules, archive.RetentionRule{MediaAfter: time.Duration(r.MediaAfterDays) * 24 * time.Hour,
			Types: r.MeetingTypes, Teams: r.Teams})
	}
	return rules
}

// runRetention applies the rules in force at start, every hour and when there are other
// rules, until ctx ends. Without rules it does so once, so that the archive records that
// there are none.
func (d *daemon) runRetention(ctx context.Context) error {
	warned, moved := false, 0
	for ctx.Err() == nil {
		changed := d.configChanged()
		rules := retentionRules(d.config())
		deleting, stop := context.WithCancel(ctx)
		waiting, err := d.archive.DeleteExpired(deleting, rules, func(e archive.Expired) {
			control.LogExpired(d.log, e)
			select {
			case <-changed: // perhaps other rules keep the rest
				stop()
			default:
			}
		})
		if stop(); err != nil && !errors.Is(err, context.Canceled) {
			d.log.Error().Err(err).Msg("apply the retention rules")
		}
		if waiting && !warned {
			d.log.Warn().Msg("the retention rules are new to this archive, or wider: they wait until a day after status has shown them, or for retention --apply")
		}
		warned = waiting
		if m := d.archive.MovedMeetings(); m == nil {
			moved = 0
		} else if m.Meetings != moved {
			moved = m.Meetings
			d.log.Warn().Int("meetings", moved).Time("due", m.From).Msg("the service has changed the team, type or start of meetings, and a retention rule deletes their recordings soon: see retention --dry-run")
		}
		d.look()
		var again <-chan time.Time // nil: only other rules
		if len(rules) > 0 || err != nil {
			again = time.After(time.Hour)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-again:
		}
	}
	return nil
}
