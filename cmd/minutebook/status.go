package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/internal/phrase"
	"minutebook/service"
	syncer "minutebook/sync"
)

func (m *Main) statusCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "status",
		Short: "Show what is kept, what is still to do and what fails",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(m, cmd, "status", control.StatusRequest{Shown: true}, nil, func(s control.StatusResult) error { return printStatus(m.Stdout, s, time.Now()) })
		},
	})
}

func printStatus(w io.Writer, s control.StatusResult, now time.Time) error {
	var b strings.Builder
	running := "no daemon is running"
	if s.Running {
		running = "the daemon is running"
	}
	fmt.Fprintf(&b, "minutebook %s, %s\n\n", s.Version, running)
	printConfiguration(&b, s.Configuration)
	printMeetings(&b, s)
	printRetention(&b, s.Retention)
	fmt.Fprintf(&b, "\ndeliveries       %6d applied, %d waiting, %d in quarantine\n", s.Inbox.Applied, s.Inbox.Received, s.Inbox.Quarantined)
	if s.Receiver != nil {
		printReceived(&b, *s.Receiver)
	}
	printUpkeep(&b, s, now)
	if s.Service != nil {
		printService(&b, *s.Service)
	}
	printDownloads(&b, s.Downloads)
	if skew := s.ClockSkew(); skew > 0 {
		fmt.Fprintf(&b, "the clock is %s away from the service's, as of %s: set it (systemd-timesyncd, chrony)\n", skew, formatTime(s.Clock.At))
	}
	for _, c := range s.Notify {
		if c.Error != "" {
			fmt.Fprintf(&b, "messages: %s fails since %s, %s: %s\n", c.Name, formatTime(c.Since), phrase.Count(c.Waiting, "message waits", "messages wait"), c.Error)
		}
	}
	for _, trouble := range s.Problems {
		fmt.Fprintf(&b, "paused: %s\n", trouble)
	}
	configured := map[string]bool{}
	for _, a := range s.Accounts {
		printAccount(&b, a, now)
		configured[a.Name] = true
	}
	others := slices.DeleteFunc(slices.Clone(s.Failures), func(f syncer.FailureStatus) bool { return configured[f.Account] })
	for i, f := range others {
		if i == 0 {
			b.WriteString("\nother failures\n")
		}
		fmt.Fprintf(&b, "  %s %s\n", f.Account, formatFailure(f, now))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printMeetings prints the numbers of meetings and of their parts, and the index's state.
func printMeetings(b *strings.Builder, s control.StatusResult) {
	fmt.Fprintf(b, "meetings         %8d\n", s.Meetings)
	fmt.Fprintf(b, "  with transcript%8d\n", s.WithTranscript)
	fmt.Fprintf(b, "  with summary   %8d\n", s.WithSummary)
	fmt.Fprintf(b, "  with recording %8d\n", s.WithRecording)
	fmt.Fprintf(b, "  indexed        %8d\n", s.Indexed)
	if s.Gone > 0 {
		fmt.Fprintf(b, "  removed upstream%7d\n", s.Gone)
	}
	if s.NotWatched > 0 {
		fmt.Fprintf(b, "  not watched    %8d\n", s.NotWatched)
	}
	if s.Forgetting > 0 {
		fmt.Fprintf(b, "not wholly erased yet: %s", phrase.Count(s.Forgetting, "forgotten meeting", "forgotten meetings"))
		if len(s.ForgettingLogs) > 0 {
			fmt.Fprintf(b, "; another program reads %s, whose log holds it", strings.Join(s.ForgettingLogs, ", "))
		}
		b.WriteByte('\n')
	}
	if !s.Running && s.Indexed < s.Meetings {
		b.WriteString("the index is not complete: minutebook serve, or the next search, completes it\n")
	} else if s.Rebuilding {
		fmt.Fprintf(b, "the index is being built anew: %s\n", s.RebuildReason)
	}
}

// printRetention prints when new retention rules begin to delete, and a clock that nothing
// confirms.
func printRetention(b *strings.Builder, h *archive.RetentionHold) {
	if h == nil {
		return
	}
	if h.Waiting {
		fmt.Fprintf(b, "new retention rules begin to delete at %s: %s of %s, %d bytes (see retention --dry-run)\n",
			h.From.Local().Format(time.DateTime), phrase.Recordings(h.Recordings), phrase.Meetings(h.Meetings), h.Bytes)
	}
	if h.Moved != nil {
		fmt.Fprintln(b, describeMoved(h.Moved))
	}
	for _, n := range h.UnknownNames {
		fmt.Fprintln(b, n)
	}
	if h.ClockAhead > 0 {
		fmt.Fprintf(b, "the clock is ahead by %s, which nothing has confirmed yet: until the service's clock agrees, or it has run so for a day (eight days, where the service had answered before it leapt), the retention rules delete as if it were not\n",
			h.ClockAhead.Round(time.Minute))
	}
}

// printConfiguration prints the settings of the daemon's file that the daemon has not loaded.
func printConfiguration(b *strings.Builder, c *control.ConfigurationState) {
	if c == nil {
		return
	}
	if c.Outdated != "" {
		fmt.Fprintf(b, "configuration: %s\n\n", c.Outdated)
	}
	if len(c.NeedsRestart) > 0 {
		fmt.Fprintf(b, "configuration: restart the daemon to change %s\n\n", strings.Join(c.NeedsRestart, ", "))
	}
}

// printService prints the problems of the service's own webhooks.
func printService(b *strings.Builder, s service.State) {
	for _, f := range s.Failing {
		fmt.Fprintf(b, "service: %s fails since %s and is tried again: %s\n", f.Part, f.Since.Local().Format(time.DateTime), f.Error)
	}
	if s.Paused != nil {
		fmt.Fprintf(b, "service: webhooks were off from %s to %s; meetings recorded before do not fire\n",
			s.Paused.From.Local().Format(time.DateTime), s.Paused.To.Local().Format(time.DateTime))
	}
	for _, h := range s.Disabled {
		fmt.Fprintf(b, "service: webhook %s of %s is disabled since %s: %s (minutebook service webhooks enable %s)\n",
			h.ID, h.Email, h.Since.Local().Format(time.DateTime), h.Reason, h.ID)
	}
}
