package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
)

func (m *Main) showCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "show ID",
		Short: "Print one meeting",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil {
				return &usageError{fmt.Errorf("show %q: give the recording_id, a whole number", args[0])}
			}
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				raw, err := control.Call[json.RawMessage](cmd.Context(), ops, "show", control.ShowRequest{RecordingID: id}, nil)
				if err != nil {
					return err
				}
				if m.json {
					_, err := fmt.Fprintf(m.Stdout, "%s\n", raw)
					return err
				}
				var meeting api.Meeting
				if err := json.Unmarshal(raw, &meeting); err != nil {
					return fmt.Errorf("read meeting %d: %w", id, err)
				}
				return printMeeting(m.Stdout, &meeting)
			})
		},
	})
}

// printMeeting shows a meeting to a person: what it was, its summary, what is
// to be done, then who said what.
func printMeeting(w io.Writer, meeting *api.Meeting) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", meeting.Title)
	if start, end := meeting.RecordingStartTime, meeting.RecordingEndTime; !start.IsZero() {
		fmt.Fprintf(&b, "%s", start.Local().Format("Monday 2 January 2006, 15:04"))
		if !end.IsZero() {
			fmt.Fprintf(&b, " (%d min)", int(end.Sub(start.Time).Minutes()))
		}
		b.WriteString("\n")
	}
	if summary, ok := meeting.DefaultSummary.Get(); ok {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(summary.MarkdownFormatted.Or("")))
	}
	if items := meeting.ActionItems.Or(nil); len(items) > 0 {
		b.WriteString("\n")
		for _, item := range items {
			mark := " "
			if item.Completed {
				mark = "x"
			}
			fmt.Fprintf(&b, "[%s] %s\n", mark, item.Description)
		}
	}
	for i, entry := range meeting.Transcript.Or(nil) {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", entry.Timestamp, entry.Speaker.DisplayName, entry.Text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
