package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/civil"
	"minutebook/internal/phrase"
)

func (m *Main) showCmd() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Print one meeting",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := meetingID("show", args[0])
			if err != nil {
				return err
			}
			when, err := parseMoment("--at", at)
			if err != nil {
				return err
			}
			result, err := call[control.ShowResult](cmd.Context(), m, "show", control.ShowRequest{RecordingID: id, At: when}, nil)
			if err != nil {
				return err
			}
			if m.json {
				_, err := fmt.Fprintf(m.Stdout, "%s\n", bytes.TrimSpace(result.Meeting))
				return err
			}
			var meeting api.Meeting
			if err := json.Unmarshal(result.Meeting, &meeting); err != nil {
				return fmt.Errorf("read meeting %d: %w", id, err)
			}
			if !result.NotWatchedSince.IsZero() {
				fmt.Fprintf(m.Stdout, "Not watched since %s: no account that is read shows this meeting.\n\n",
					result.NotWatchedSince.Local().Format("2 January 2006"))
			}
			return printMeeting(m.Stdout, &meeting)
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "as it was at this time (2026-01-31 or 2026-01-31T12:00:00Z)")
	return m.jsonFlag(cmd)
}

// meetingID reads a recording_id from the command line.
func meetingID(command, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, &usageError{fmt.Errorf("%s %q: give the recording_id, a whole number", command, text)}
	}
	return id, nil
}

// parseMoment reads a time from the command line. A date means the end of that day
// in local time; "" is the zero time.
func parseMoment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return civil.Day(day.Year(), day.Month(), day.Day()+1, time.Local).Add(-time.Millisecond), nil
	}
	t, err := api.ParseTime(text)
	if err != nil {
		return time.Time{}, &usageError{fmt.Errorf("read %s %q: write 2026-01-31 or 2026-01-31T12:00:00Z", flag, text)}
	}
	return t, nil
}

// printMeeting prints a meeting for a person: title and time, summary, action
// items, transcript.
func printMeeting(w io.Writer, meeting *api.Meeting) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", cmp.Or(phrase.Tame(meeting.Title), "Untitled"))
	if start, end := meeting.RecordingStartTime, meeting.RecordingEndTime; !start.IsZero() {
		fmt.Fprintf(&b, "%s", start.Local().Format("Monday 2 January 2006, 15:04"))
		if end.After(start.Time) {
			fmt.Fprintf(&b, " (%d min)", int(end.Sub(start.Time).Minutes()))
		}
		b.WriteString("\n")
	}
	if summary := strings.TrimSpace(phrase.TameLines(meeting.DefaultSummary.Or(api.Summary{}).MarkdownFormatted.Or(""))); summary != "" {
		fmt.Fprintf(&b, "\n%s\n", summary)
	}
	if items := meeting.ActionItems.Or(nil); len(items) > 0 {
		b.WriteString("\n")
		for _, item := range items {
			mark := " "
			if item.Completed {
				mark = "x"
			}
			fmt.Fprintf(&b, "[%s] %s\n", mark, phrase.Tame(item.Description))
		}
	}
	for i, entry := range meeting.Transcript.Or(nil) {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%-8s  ", phrase.Tame(entry.Timestamp))
		if name := phrase.Tame(entry.Speaker.DisplayName); name != "" {
			b.WriteString(name + ": ")
		}
		b.WriteString(phrase.Tame(entry.Text) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
