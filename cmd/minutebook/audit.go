package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/civil"
	"minutebook/web/access"
)

func (m *Main) auditCmd() *cobra.Command {
	var q control.AuditRequest
	var since string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who did what",
		Long: "Shows who signed in, exported, forgot, managed people and tokens and, with [audit] reads,\n" +
			"opened, played and downloaded meetings. Rows have ids only. --json prints a row a line.",
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.Since, err = parseBeginning("--since", since); err != nil {
				return err
			}
			_, err = call[control.AuditResult](cmd.Context(), m, "audit", q, m.printAuditLine)
			return err
		},
	}
	cmd.Flags().StringVar(&q.Person, "person", "", "only what this person did, or what was done to this person, by `address` or id")
	cmd.Flags().StringVar(&since, "since", "", "from this `time` on (2026-01-31 or 2026-01-31T12:00:00Z)")
	return m.jsonFlag(cmd)
}

// parseBeginning reads a time from the command line. A date means the beginning of
// that day in local time; "" is the zero time.
func parseBeginning(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return civil.Day(day.Year(), day.Month(), day.Day(), time.Local), nil
	}
	t, err := api.ParseTime(text)
	if err != nil {
		return time.Time{}, &usageError{fmt.Errorf("read %s %q: write 2026-01-31 or 2026-01-31T12:00:00Z", flag, text)}
	}
	return t, nil
}

func (m *Main) printAuditLine(raw json.RawMessage) error {
	if m.json {
		_, err := fmt.Fprintf(m.Stdout, "%s\n", raw)
		return err
	}
	var l control.AuditLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return fmt.Errorf("read audit row: %w", err)
	}
	actor := string(l.Actor)
	if l.ActorAddress != "" {
		actor = l.ActorAddress
	}
	_, err := fmt.Fprintf(m.Stdout, "%s  %s  %s%s\n", l.At.Local().Format(time.DateTime), actor, l.Kind, describeIDs(l.IDs, l.PersonAddress))
	return err
}

// describeIDs returns the things that an event is about, each after two spaces.
func describeIDs(ids access.IDs, address string) string {
	var b strings.Builder
	if ids.Person != 0 {
		b.WriteString("  " + address)
	}
	for _, id := range []struct {
		name  string
		value int64
	}{{"session", ids.Session}, {"token", ids.Token}, {"meeting", ids.Meeting}, {"meetings", int64(ids.Count)}, {"delivery", ids.Delivery}} {
		if id.value != 0 {
			fmt.Fprintf(&b, "  %s %d", id.name, id.value)
		}
	}
	if ids.Account != "" {
		b.WriteString("  account " + ids.Account)
	}
	if ids.Job != "" {
		b.WriteString("  job " + ids.Job)
	}
	if ids.Method != "" {
		b.WriteString("  by " + string(ids.Method))
	}
	if ids.Hash != "" {
		b.WriteString("  " + ids.Hash)
	}
	return b.String()
}
