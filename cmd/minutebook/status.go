package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
)

func (m *Main) statusCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "status",
		Short: "Say what is kept, what is still to do and what fails",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				result, err := control.Call[control.StatusResult](cmd.Context(), ops, "status", struct{}{}, nil)
				if err != nil {
					return err
				}
				if m.json {
					return printJSON(m.Stdout, result)
				}
				return printStatus(m.Stdout, result)
			})
		},
	})
}

func printStatus(w io.Writer, s control.StatusResult) error {
	var b strings.Builder
	running := "no daemon is running"
	if s.Running {
		running = "the daemon is running"
	}
	fmt.Fprintf(&b, "minutebook %s, %s\n\n", s.Version, running)
	fmt.Fprintf(&b, "meetings         %6d\n", s.Meetings)
	fmt.Fprintf(&b, "  with transcript%6d\n", s.WithTranscript)
	fmt.Fprintf(&b, "  with summary   %6d\n", s.WithSummary)
	fmt.Fprintf(&b, "  with recording %6d\n", s.WithRecording)
	fmt.Fprintf(&b, "  indexed        %6d\n", s.Indexed)
	if s.Gone > 0 {
		fmt.Fprintf(&b, "  gone upstream  %6d\n", s.Gone)
	}
	if s.Rebuilding {
		b.WriteString("the index is being built anew\n")
	}
	printAccounts(&b, s)
	for _, trouble := range s.Troubles {
		fmt.Fprintf(&b, "paused: %s\n", trouble)
	}
	for i, f := range s.Failures {
		if i == 0 {
			b.WriteString("\nfailures\n")
		}
		fmt.Fprintf(&b, "  %s %s: %s (%d %s)\n", f.Account, f.What, f.Reason, f.Tries, plural(f.Tries, "try", "tries"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printAccounts tells, for each account, when each job last succeeded, how much
// waits, and what is left of this minute's calls.
func printAccounts(b *strings.Builder, s control.StatusResult) {
	fmt.Fprintf(b, "\ndeliveries       %6d applied, %d waiting, %d in quarantine\n", s.Inbox.Applied, s.Inbox.Received, s.Inbox.Quarantined)
	for _, a := range s.Accounts {
		fmt.Fprintf(b, "\naccount %s\n", a.Name)
		if a.Parked != "" {
			fmt.Fprintf(b, "  parked since %s: %s\n", a.ParkedSince.Local().Format(time.DateTime), a.Parked)
		}
		if !a.Backfilled {
			b.WriteString("  the full history has not been read yet\n")
		}
		for _, job := range slices.Sorted(maps.Keys(a.NextRun)) {
			last := "never"
			if at, ok := a.LastSuccess[job]; ok {
				last = at.Local().Format(time.DateTime)
			}
			fmt.Fprintf(b, "  %-10s last %s, next %s\n", job, last, a.NextRun[job].Local().Format(time.DateTime))
		}
		if a.Asks > 0 {
			fmt.Fprintf(b, "  %d transcripts and summaries still to be read, %d of them now\n", a.Asks, a.AsksDue)
		}
		for _, u := range a.Budget {
			fmt.Fprintf(b, "  %-10s %d of %d calls this minute\n", u.Class, u.Used, u.Limit)
		}
	}
}
