package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
	syncer "minutebook/sync"
)

func (m *Main) syncCmd() *cobra.Command {
	var q syncer.Request
	var since string
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Read what is new at the service, now",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if since != "" {
				t, err := parseSince(since, time.Now())
				if err != nil {
					return &usageError{err}
				}
				q.Since = t
			}
			_, err := call[control.SyncResult](cmd.Context(), m, "sync", q, m.newProgress().Event)
			return err
		},
	}
	cmd.Flags().StringVar(&q.Account, "account", "", "only this account")
	cmd.Flags().BoolVar(&q.Full, "full", false, "the whole history, not only what is new")
	cmd.Flags().StringVar(&since, "since", "", "from this date (2026-01-31) or for this long (30d)")
	cmd.Flags().BoolVar(&q.Resume, "resume", false, "call accounts too that the service asked not to call yet")
	cmd.Flags().BoolVar(&q.Media, "media", false, "wait until the recordings are fetched, too")
	return m.jsonFlag(cmd)
}

// parseSince reads a date, or a number of days before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && days > 0 {
		return now.AddDate(0, 0, -days), nil
	}
	return time.Time{}, fmt.Errorf("read --since %q: write a date such as 2026-01-31 or a number of days such as 30d", text)
}
