package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"minutebook/control"
	"minutebook/service"
	"minutebook/service/limit"
)

// serviceAdminCmds administer the service of a data directory, running or not.
func (m *Main) serviceAdminCmds() []*cobra.Command {
	group := func(use, short string, cmds ...*cobra.Command) *cobra.Command {
		cmd := &cobra.Command{Use: use, Short: short, Args: checkArgs(cobra.NoArgs)}
		cmd.AddCommand(cmds...)
		return cmd
	}
	return []*cobra.Command{
		group("keys", "API keys", m.keysCreateCmd(), m.keysListCmd(), m.keysRevokeCmd()),
		group("users", "Who can have credentials", m.usersCreateCmd(), m.usersStatusCmd(), m.usersListCmd()),
		group("apps", "OAuth apps", m.appsCreateCmd(), m.appsListCmd(), m.appsDeleteCmd(), m.appsAuthorizeCmd()),
		group("deliveries", "Webhooks and callbacks that were and will be sent", m.deliveriesListCmd(), m.deliveriesRetryCmd()),
		group("webhooks", "Registered webhooks", m.webhooksListCmd(), m.webhooksEnableCmd(), m.webhooksDeleteCmd()),
		m.finishCmd(), m.limitsCmd(),
	}
}

// adminCommand makes a command that performs one operation with the fields that
// its flags set in q. A use that ends in an ID takes that as its argument.
func adminCommand[R any](m *Main, use, short, operation string, q *control.ServiceRequest, show func(R)) *cobra.Command {
	args := cobra.NoArgs
	if strings.HasSuffix(use, "-ID") {
		args = cobra.ExactArgs(1)
	}
	return m.jsonFlag(&cobra.Command{
		Use: use, Short: short, Args: checkArgs(args),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.ID = args[0]
			}
			return performService(m, cmd, operation, *q, show)
		},
	})
}

// performService runs one operation and prints its result: as JSON, or as show
// writes it for a person.
func performService[R any](m *Main, cmd *cobra.Command, name string, q control.ServiceRequest, show func(R)) error {
	return perform(m, cmd, name, q, nil, func(result R) error { show(result); return nil })
}

func (m *Main) finishCmd() *cobra.Command {
	return adminCommand(m, "finish", "Finish the next meeting that is kept back", "service.finish", &control.ServiceRequest{}, func(f control.Finished) {
		if !f.Finished {
			fmt.Fprintln(m.Stdout, "no meeting is kept back")
			return
		}
		fmt.Fprintln(m.Stdout, f.RecordingID)
	})
}

func (m *Main) limitsCmd() *cobra.Command {
	var elevated bool
	var global, heavy, downloads int
	var window service.Window
	cmd := &cobra.Command{
		Use: "limits", Short: "Show or change the limits", Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var change control.LimitsChange
			var request control.ServiceRequest
			if cmd.Flags().Changed("global") {
				change.Global = &global
			}
			if cmd.Flags().Changed("heavy") {
				change.Heavy = &heavy
			}
			if cmd.Flags().Changed("elevated") {
				change.Elevated = &elevated
			}
			if cmd.Flags().Changed("download-limit") {
				change.DownloadLimit = &downloads
			}
			if cmd.Flags().Changed("window") {
				change.Window = &window
			}
			if change != (control.LimitsChange{}) {
				request.Limits = &change
			}
			return performService(m, cmd, "service.limits", request, func(l service.Limits) {
				fmt.Fprintf(m.Stdout, "calls in 60 s %d\nheavy calls in 60 s %d\nelevated %v\ndownload requests in 60 s %d\nwindow %s\n",
					l.Global, l.Heavy, l.Elevated, l.DownloadLimit, l.Window)
			})
		},
	}
	cmd.Flags().IntVar(&global, "global", 0, "calls allowed in 60 s, also beyond the service's 60; 0 is the service's")
	cmd.Flags().IntVar(&heavy, "heavy", 0, "heavy calls allowed in 60 s, also beyond the service's 30; 0 is the service's")
	cmd.Flags().BoolVar(&elevated, "elevated", false, "lower the heavy limit to 5 in 60 s")
	cmd.Flags().IntVar(&downloads, "download-limit", 0, "download requests allowed in 60 s; 0 is the service's 30")
	cmd.Flags().StringVar((*string)(&window), "window", "", "how calls are counted: fixed or sliding")
	limitFlag(cmd.Flags(), "window", limit.Fixed, limit.Sliding)
	return m.jsonFlag(cmd)
}
