package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"minutebook/control"
)

func (m *Main) reloadCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "reload",
		Short: "Make the daemon load its configuration again",
		Long: `Makes the daemon load its own configuration again, as SIGHUP does: accounts,
schedules, secrets, hosts, sign-in, retention rules and the log level take effect at
once, and no request fails. Settings that take effect at the next start only are
named, and so are accounts that are not configured any more. A configuration with a
mistake is refused as a whole: the exit code is 1, and the daemon goes on with what it
has. So is one that is empty, or has lost all its accounts, since it may have been cut
off.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m.reloading = true
			r, err := call[control.Reloaded](cmd.Context(), m, "reload", struct{}{}, nil)
			if err != nil {
				return err
			}
			// The daemon reads its own file, or none, whichever the command has.
			if given, err := m.readConfiguration(); err == nil && r.Configuration.Path == "" && given.Path != "" {
				fmt.Fprintln(m.Stderr, "minutebook: "+given.Differs(r.Configuration))
			}
			if m.json {
				return printJSON(m.Stdout, r)
			}
			return m.printReloaded(r)
		},
	})
}

func (m *Main) printReloaded(r control.Reloaded) error {
	text := "configuration loaded"
	if r.Configuration.Path != "" {
		text += ": " + r.Configuration.Path
	}
	if len(r.Changed) > 0 {
		text += "\nin effect: " + strings.Join(r.Changed, ", ")
	} else {
		text += "\nnothing changed"
	}
	if len(r.Left) > 0 {
		text += "\nnot configured any more: " + strings.Join(r.Left, ", ") + "; what was read for them is kept"
	}
	if len(r.Webhooks) > 0 {
		text += "\nwebhooks of those, which the service still has: " + strings.Join(r.Webhooks, ", ") + "; `minutebook webhook list` says what to do"
	}
	if len(r.NeedsRestart) > 0 {
		text += "\nafter a restart only: " + strings.Join(r.NeedsRestart, ", ")
	}
	_, err := fmt.Fprintln(m.Stdout, text)
	return err
}
