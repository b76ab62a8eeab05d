package main

import (
	"fmt"
	"strconv"
	"strings"
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
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if since != "" {
				if q.Since, err = parseSince(since, time.Now()); err != nil {
					return err
				}
			}
			_, err = call[control.SyncResult](cmd.Context(), m, "sync", q, m.newProgress().Event)
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

// parseSince reads a date, as [parseBeginning] does, or a number of days before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 16); err == nil && days > 0 {
			return now.AddDate(0, 0, -int(days)), nil
		}
	}
	t, err := parseBeginning("--since", text)
	if err != nil {
		return t, &usageError{fmt.Errorf("read --since %q: write a date such as 2026-01-31 or a number of days such as 30d", text)}
	}
	return t, nil
}
