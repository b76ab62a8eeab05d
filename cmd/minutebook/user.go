package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
	"minutebook/internal/phrase"
	"minutebook/web/access"
)

func (m *Main) userCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "user",
		Short: "Who may enter the page: add, list, change and remove people",
		Long: "Who may enter the page. A person sees what the service's own rules let the addresses see;\n" +
			"an admin manages people and sees the archive's operations, and no more meetings.",
		Args: checkArgs(cobra.NoArgs),
	}
	cmd.AddCommand(m.userAddCmd(), m.userListCmd(), m.userRemoveCmd(), m.userAdminCmd(), m.userAliasCmd(), m.userInviteCmd(), m.userEndCmd())
	return cmd
}

// userOperation makes a command that performs one operation on the person with the
// address that is its first argument; alias takes a second argument.
func userOperation[R any](m *Main, use, short, operation string, q *control.UserRequest, show func(R) error) *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: use, Short: short, Args: checkArgs(cobra.ExactArgs(len(strings.Fields(use)) - 1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Address = args[0]
			if len(args) > 1 {
				q.Alias = args[1]
			}
			return perform(m, cmd, operation, *q, nil, show)
		},
	})
}

func (m *Main) userAddCmd() *cobra.Command {
	var q control.UserRequest
	cmd := userOperation(m, "add EMAIL", "Add a person and print the link that sets the password", "user.add", &q, m.printInvited)
	cmd.Long = "Adds a person and prints a link with which the person sets a password, once and within\n" +
		"three days. Only this output has it: send it to the person alone."
	cmd.Flags().BoolVar(&q.Admin, "admin", false, "make the person an admin")
	cmd.Flags().StringVar(&q.Name, "name", "", "the person's `name`")
	return cmd
}

func (m *Main) userInviteCmd() *cobra.Command {
	return userOperation(m, "invite EMAIL", "Print another link, to set or replace the password", "user.invite", &control.UserRequest{}, m.printInvited)
}

// printInvited prints the link alone on standard output, for a pipe, and the rest
// on standard error.
func (m *Main) printInvited(r control.Invited) error {
	if r.Link == "" {
		_, err := fmt.Fprintln(m.Stdout, r.Person.Address())
		return err
	}
	if _, err := fmt.Fprintln(m.Stdout, r.Link); err != nil {
		return err
	}
	_, err := fmt.Fprintf(m.Stderr, "for %s, once, until %s; the link is not shown again\n", r.Person.Address(), r.ExpiresAt.Local().Format(time.DateTime))
	return err
}

func (m *Main) userListCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the people who may enter", Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perform(m, cmd, "user.list", struct{}{}, nil, func(people []control.ListedPerson) error {
				w, flush := m.newTable()
				defer flush()
				for _, p := range people {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", strings.Join(p.Addresses, ", "), phrase.Tame(p.Name), describePerson(p), phrase.Count(p.Sessions, "session", "sessions"), p.CreatedAt.Local().Format(time.DateOnly))
				}
				return nil
			})
		},
	})
}

// describePerson returns the standing of a person in a few words.
func describePerson(p control.ListedPerson) string {
	words := []string{"member"}
	if p.Admin {
		words[0] = "admin"
	}
	if p.Deactivated {
		words = append(words, "deactivated in the directory")
	}
	if !p.HasPassword {
		words = append(words, "no password")
	}
	switch a := p.Account; {
	case a == nil:
	case a.Parked != "":
		words = append(words, "account "+a.Name+" parked: "+a.Parked)
	default:
		words = append(words, "account "+a.Name)
	}
	return strings.Join(words, ", ")
}

func (m *Main) userRemoveCmd() *cobra.Command {
	return userOperation(m, "remove EMAIL", "Remove a person, with sessions and tokens; meetings stay", "user.remove", &control.UserRequest{}, m.printPerson)
}

func (m *Main) userAdminCmd() *cobra.Command {
	var disabled bool
	q := control.UserRequest{}
	cmd := userOperation(m, "admin EMAIL", "Make a person an admin, or with --off a member again", "user.admin", &q, m.printPerson)
	cmd.PreRun = func(*cobra.Command, []string) { q.Admin = !disabled }
	cmd.Flags().BoolVar(&disabled, "off", false, "make the person a member again")
	return cmd
}

func (m *Main) userAliasCmd() *cobra.Command {
	var q control.UserRequest
	cmd := userOperation(m, "alias EMAIL ADDRESS", "Give a person another address, and what it may see", "user.alias", &q, m.printPerson)
	cmd.Flags().BoolVar(&q.Remove, "remove", false, "take the address away")
	return cmd
}

func (m *Main) userEndCmd() *cobra.Command {
	return userOperation(m, "end EMAIL", "End all sessions of a person", "user.end", &control.UserRequest{}, func(r control.EndedSessions) error {
		_, err := fmt.Fprintf(m.Stdout, "%s ended\n", phrase.Count(r.Ended, "session", "sessions"))
		return err
	})
}

func (m *Main) printPerson(p access.Person) error {
	standing := "member"
	switch {
	case !p.RemovedAt.IsZero():
		standing = "removed"
	case p.Admin:
		standing = "admin"
	}
	_, err := fmt.Fprintf(m.Stdout, "%s  %s\n", strings.Join(p.Addresses, ", "), standing)
	return err
}
