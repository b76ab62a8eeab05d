package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
	"minutebook/internal/phrase"
	"minutebook/service"
)

// newTable returns a writer of aligned columns and a function that flushes it.
func (m *Main) newTable() (*tabwriter.Writer, func()) {
	w := tabwriter.NewWriter(m.Stdout, 0, 0, 2, ' ', 0)
	return w, func() { w.Flush() }
}

// requireFlags marks flags of a command as required.
func requireFlags(cmd *cobra.Command, flags ...string) *cobra.Command {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was not declared
		}
	}
	return cmd
}

func (m *Main) keysCreateCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := adminCommand(m, "create --user EMAIL", "Make an API key; it is shown once", "service.keys.create", &q, func(k control.NewKey) { fmt.Fprintln(m.Stdout, k.APIKey) })
	cmd.Flags().StringVar(&q.Email, "user", "", "whose key it is, by `email`")
	checkAddress(cmd.Flags(), "user")
	return requireFlags(cmd, "user")
}

func (m *Main) keysListCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := adminCommand(m, "list", "List API keys, without the keys", "service.keys.list", &q, func(keys []service.Key) {
		w, flush := m.newTable()
		defer flush()
		for _, k := range keys {
			state := "active"
			if k.Revoked {
				state = "revoked"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.ID, k.Email, k.CreatedAt.Format(time.DateOnly), state)
		}
	})
	cmd.Flags().StringVar(&q.Email, "user", "", "only those of this `email`")
	checkAddress(cmd.Flags(), "user")
	return cmd
}

func (m *Main) keysRevokeCmd() *cobra.Command {
	return adminCommand(m, "revoke KEY-ID", "End an API key", "service.keys.revoke", &control.ServiceRequest{}, func(control.Done) {})
}

func (m *Main) usersCreateCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := adminCommand(m, "create --user EMAIL", "Add a user, or replace one", "service.users.create", &q, func(u api.User) { fmt.Fprintln(m.Stdout, u.Email) })
	f := cmd.Flags()
	f.StringVar(&q.User.Email, "user", "", "the `email`")
	f.StringVar(&q.User.Name, "name", "", "the full `name`")
	f.StringVar(&q.User.Team, "team", "", "the `team` to be a member of")
	f.BoolVar(&q.User.Admin, "admin", false, "an account admin who views all teams")
	f.StringVar(&q.User.Status, "status", "", "active, deactivated or invited")
	limitFlag(f, "status", "active", "deactivated", "invited")
	checkAddress(f, "user")
	return requireFlags(cmd, "user")
}

func (m *Main) usersStatusCmd() *cobra.Command {
	var q control.ServiceRequest
	cmd := adminCommand(m, "status --user EMAIL --status STATUS", "Activate or deactivate a user", "service.users.status", &q, func(control.Done) {})
	cmd.Flags().StringVar(&q.Email, "user", "", "the `email`")
	cmd.Flags().StringVar(&q.Status, "status", "", "active, deactivated or invited")
	limitFlag(cmd.Flags(), "status", "active", "deactivated", "invited")
	checkAddress(cmd.Flags(), "user")
	return requireFlags(cmd, "user", "status")
}

func (m *Main) usersListCmd() *cobra.Command {
	return adminCommand(m, "list", "List users", "service.users.list", &control.ServiceRequest{}, func(users []api.User) {
		w, flush := m.newTable()
		defer flush()
		for _, u := range users {
			p := u.Permissions.Or(api.Permissions{})
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", phrase.Tame(u.Email), phrase.Tame(u.Name.Or("")), u.Status, p.SettingsAccess.Level, p.ViewAccess.Level)
		}
	})
}
