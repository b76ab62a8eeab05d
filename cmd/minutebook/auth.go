package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/control"
)

func (m *Main) authCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Connect accounts through an OAuth app",
	}
	cmd.AddCommand(m.authLoginCmd(), m.authStatusCmd())
	return cmd
}

func (m *Main) authLoginCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "login ACCOUNT",
		Short: "Connect an account: open the address printed and allow the connection",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				return m.login(cmd.Context(), ops, control.AuthRequest{Account: args[0]})
			})
		},
	}
}

// login ends when the daemon has been visited by the redirect, or with the
// address that a person pastes because it leads elsewhere.
func (m *Main) login(ctx context.Context, ops control.Caller, q control.AuthRequest) error {
	before, err := control.Call[api.OAuthStatus](ctx, ops, "auth.status", q, nil)
	if err != nil {
		return err
	}
	begun, err := control.Call[control.AuthBegun](ctx, ops, "auth.begin", q, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Stderr, "Open this address in a browser and allow the connection:\n\n")
	fmt.Fprintln(m.Stdout, begun.URL)
	fmt.Fprintf(m.Stderr, "\nWhere the browser then shows no page of Minutebook, paste the address it was sent to:\n")
	type pasted struct {
		address string
		err     error
	}
	line := make(chan pasted, 1)
	go func() { // ends with standard input, at the latest with the process
		address, err := readLine(m.Stdin)
		line <- pasted{address, err}
	}()
	look := time.NewTicker(2 * time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-line:
			if p.err != nil {
				return p.err
			}
			q.State, q.Address = begun.State, p.address
			if _, err := control.Call[struct{}](ctx, ops, "auth.finish", q, nil); err != nil {
				return err
			}
		case <-look.C:
			now, err := control.Call[api.OAuthStatus](ctx, ops, "auth.status", q, nil)
			if err != nil {
				return err
			}
			if !now.Connected || !now.Obtained.After(before.Obtained) {
				continue
			}
		}
		_, err := fmt.Fprintf(m.Stderr, "account %s is connected\n", q.Account)
		return err
	}
}

// readLine reads the address from standard input: an argument would be seen in
// the process list, and it carries a code.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the address: %w", err)
	}
	if line == "" {
		return "", errors.New("read the address: nothing was pasted")
	}
	return line, nil
}

func (m *Main) authStatusCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "status [ACCOUNT]",
		Short: "Say whether an account, or each of them, is connected, and until when",
		Args:  usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				if len(args) == 0 {
					return m.authStatuses(cmd.Context(), ops)
				}
				s, err := control.Call[api.OAuthStatus](cmd.Context(), ops, "auth.status", control.AuthRequest{Account: args[0]}, nil)
				if err != nil {
					return err
				}
				if m.json {
					return printJSON(m.Stdout, s)
				}
				_, err = io.WriteString(m.Stdout, connectionLine(args[0], s))
				return err
			})
		},
	})
}

// authStatuses tells of every account that connects through an OAuth app.
func (m *Main) authStatuses(ctx context.Context, ops control.Caller) error {
	list, err := control.Call[control.AuthList](ctx, ops, "auth.list", struct{}{}, nil)
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, list)
	}
	if len(list.Accounts) == 0 {
		_, err := fmt.Fprintln(m.Stdout, "no account has [accounts.oauth] in the configuration")
		return err
	}
	for _, a := range list.Accounts {
		if _, err := io.WriteString(m.Stdout, connectionLine(a.Account, a.OAuthStatus)); err != nil {
			return err
		}
	}
	return nil
}

func connectionLine(account string, s api.OAuthStatus) string {
	switch {
	case !s.Connected:
		return fmt.Sprintf("%s is not connected: %s; run: minutebook auth login %s\n", account, s.Reconnect, account)
	case s.Expires.IsZero():
		return fmt.Sprintf("%s is connected\n", account)
	}
	return fmt.Sprintf("%s is connected; its access token is renewed before %s\n", account, s.Expires.Local().Format(time.DateTime))
}
