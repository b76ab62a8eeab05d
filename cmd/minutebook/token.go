package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
	"minutebook/web/access"
)

func (m *Main) tokenCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Personal tokens for programs: /api/v1 and /mcp", Args: checkArgs(cobra.NoArgs)}
	cmd.AddCommand(m.tokenCreateCmd(), m.tokenListCmd(), m.tokenRevokeCmd())
	return cmd
}

func (m *Main) tokenCreateCmd() *cobra.Command {
	var q control.TokenRequest
	var scopes []string
	cmd := &cobra.Command{
		Use: "create EMAIL", Short: "Make a token of a person; it is shown once", Args: checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Address = args[0]
			for _, s := range scopes {
				q.Scopes = append(q.Scopes, access.Scope(s))
			}
			if q.Life <= 0 {
				return &usageError{fmt.Errorf("token create: --expires is a duration such as 2160h")}
			}
			return perform(m, cmd, "token.create", q, nil, func(t control.NewToken) error {
				if _, err := fmt.Fprintln(m.Stdout, t.Secret); err != nil {
					return err
				}
				_, err := fmt.Fprintf(m.Stderr, "token %d, until %s; it is not shown again\n", t.ID, t.ExpiresAt.Local().Format(time.DateTime))
				return err
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", []string{string(access.ScopeRead)}, "what it can do: read, export, admin, separated by commas")
	limitFlag(cmd.Flags(), "scope", access.ScopeRead, access.ScopeExport, access.ScopeAdmin)
	cmd.Flags().DurationVar(&q.Life, "expires", 90*24*time.Hour, "how long it is valid")
	cmd.Flags().StringVar(&q.Label, "label", "", "a `text` by which one recognises it")
	return m.jsonFlag(cmd)
}

func (m *Main) tokenListCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: "list [EMAIL]", Short: "List the tokens of a person or of all people, without their secrets", Args: checkArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := control.TokenRequest{Address: strings.Join(args, "")}
			return perform(m, cmd, "token.list", q, nil, func(tokens []control.ListedToken) error {
				w, flush := m.newTable()
				defer flush()
				for _, t := range tokens {
					fmt.Fprintf(w, "%d\t%s\t%s\t%v\t%s\t%s\n", t.ID, t.Address, t.Label, t.Scopes, describeToken(t), describeUse(t.UsedAt))
				}
				return nil
			})
		},
	})
}

// describeToken returns until when a token is valid, or why it is not.
func describeToken(t control.ListedToken) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked " + t.RevokedAt.Local().Format(time.DateOnly)
	case !t.Valid:
		return "expired " + t.ExpiresAt.Local().Format(time.DateOnly)
	}
	return "until " + t.ExpiresAt.Local().Format(time.DateOnly)
}

func describeUse(at time.Time) string {
	if at.IsZero() {
		return "never used"
	}
	return "used " + at.Local().Format(time.DateTime)
}

func (m *Main) tokenRevokeCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use: "revoke TOKEN-ID", Short: "End a token", Args: checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id <= 0 {
				return &usageError{fmt.Errorf("token revoke %q: give the number that token list shows", args[0])}
			}
			return perform(m, cmd, "token.revoke", control.TokenRequest{ID: id}, nil, func(control.Done) error { return nil })
		},
	})
}
