package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/internal/phrase"
)

func (m *Main) historyCmd() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "List every version of a meeting, or what differs between two times",
		Args:  checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := control.HistoryRequest{}
			var err error
			if q.RecordingID, err = meetingID("history", args[0]); err != nil {
				return err
			}
			if q.From, err = parseMoment("--from", from); err != nil {
				return err
			}
			if q.To, err = parseMoment("--to", to); err != nil {
				return err
			}
			if from == "" && to != "" {
				return &usageError{errors.New("history: --to goes with --from")}
			}
			return perform(m, cmd, "history", q, nil, func(h control.HistoryResult) error { return printHistory(m.Stdout, h) })
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "say what differs from this time on (2026-01-31)")
	cmd.Flags().StringVar(&to, "to", "", "up to this time, instead of now; with --from")
	return m.jsonFlag(cmd)
}

func printHistory(w io.Writer, h control.HistoryResult) error {
	for _, d := range h.Differences {
		if _, err := fmt.Fprintln(w, phrase.TameLines(d.String())); err != nil {
			return err
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range h.Revisions {
		mark := " "
		if r.Current {
			mark = "*"
		}
		var from []string
		for _, s := range r.Seen {
			from = append(from, fmt.Sprintf("%s by %s", s.Account, s.Source))
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%d bytes\t%.12s\t%s\n", mark, r.Part, r.First.Local().Format(time.DateTime),
			r.Last.Local().Format(time.DateTime), r.Size, r.Hash, strings.Join(from, ", "))
	}
	return t.Flush()
}

func (m *Main) statsCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "stats",
		Short: "Count meetings, hours, words, people and bytes, by month",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(m, cmd, "stats", struct{}{}, nil, func(s archive.Stats) error { return printStats(m.Stdout, s) })
		},
	})
}

func printStats(w io.Writer, s archive.Stats) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "meetings\t%d\t\nhours\t%.1f\t\nwords\t%d\t\npeople\t%d\t\nversions\t%d\t\n", s.Meetings, s.Hours, s.Words, s.People, s.Revisions)
	const mb = 1 << 20
	fmt.Fprintf(t, "database MB\t%.1f\t\nindex MB\t%.1f\t\nrecordings MB\t%.1f\t\n", float64(s.Sizes.Database)/mb,
		float64(s.Sizes.Index)/mb, float64(s.Sizes.Recordings)/mb)
	fmt.Fprintf(t, "\t\t\t\t\nmonth\tmeetings\thours\twords\t\n")
	for _, m := range s.Months {
		fmt.Fprintf(t, "%s\t%d\t%.1f\t%d\t\n", m.Month, m.Meetings, m.Hours, m.Words)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
