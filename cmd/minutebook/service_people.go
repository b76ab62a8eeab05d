package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
	"minutebook/service"
)

// table writes columns; its lines are flushed by the returned function.
func (m *Main) table() (*tabwriter.Writer, func()) {
	w := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
	return w, func() { w.Flush() }
}

// required makes a command refuse to run without flags.
func required(cmd *cobra.Command, flags ...string) *cobra.Command {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was not declared
		}
	}
	return cmd
}

func (m *Main) keysCreateCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := &cobra.Command{
		Use: "create --user EMAIL", Short: "Make an API key; it is shown once", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceCall(m, cmd, "service.keys.create", q, func(k control.NewKey) { fmt.Fprintln(m.Stdout, k.APIKey) })
		},
	}
	cmd.Flags().StringVar(&q.Email, "user", "", "whose key it is, by `email`")
	return m.jsonFlag(required(cmd, "user"))
}

func (m *Main) keysListCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := &cobra.Command{
		Use: "list", Short: "List API keys, without the keys", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceCall(m, cmd, "service.keys.list", q, func(keys []service.Key) {
				w, flush := m.table()
				defer flush()
				for _, k := range keys {
					state := "active"
					if k.Revoked {
						state = "revoked"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.ID, k.Email, k.CreatedAt.Format(time.DateOnly), state)
				}
			})
		},
	}
	cmd.Flags().StringVar(&q.Email, "user", "", "only those of this `email`")
	return m.jsonFlag(cmd)
}

func (m *Main) keysRevokeCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: "revoke KEY-ID", Short: "End an API key", Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return serviceCall(m, cmd, "service.keys.revoke", control.ServiceRequest{ID: args[0]}, func(control.Done) {})
		},
	})
}

func (m *Main) usersCreateCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := &cobra.Command{
		Use: "create --user EMAIL", Short: "Add a user, or replace one", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceCall(m, cmd, "service.users.create", q, func(u api.User) { fmt.Fprintln(m.Stdout, u.Email) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.User.Email, "user", "", "the `email`")
	f.StringVar(&q.User.Name, "name", "", "the full `name`")
	f.StringVar(&q.User.Team, "team", "", "the `team` to be a member of")
	f.BoolVar(&q.User.Admin, "admin", false, "an account admin who views all teams")
	f.StringVar(&q.User.Status, "status", "", "active, deactivated or invited")
	return m.jsonFlag(required(cmd, "user"))
}

func (m *Main) usersStatusCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := &cobra.Command{
		Use: "status --user EMAIL --status STATUS", Short: "Activate or deactivate a user", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceCall(m, cmd, "service.users.status", q, func(control.Done) {})
		},
	}
	cmd.Flags().StringVar(&q.Email, "user", "", "the `email`")
	cmd.Flags().StringVar(&q.Status, "status", "", "active, deactivated or invited")
	return m.jsonFlag(required(cmd, "user", "status"))
}

func (m *Main) usersListCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: "list", Short: "List users", Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serviceCall(m, cmd, "service.users.list", control.ServiceRequest{}, func(users []api.User) {
				w, flush := m.table()
				defer flush()
				for _, u := range users {
					p := u.Permissions.Or(api.Permissions{})
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", u.Email, u.Name.Or(""), u.Status, p.SettingsAccess.Level, p.ViewAccess.Level)
				}
			})
		},
	})
}
