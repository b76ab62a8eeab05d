package main

import (
	"bufio"
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
		Short: "Connect an account: open the address printed, then paste the one it leads to",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				q := control.AuthRequest{Account: args[0]}
				begun, err := control.Call[control.AuthBegun](cmd.Context(), ops, "auth.begin", q, nil)
				if err != nil {
					return err
				}
				fmt.Fprintf(m.Stderr, "Open this address in a browser and allow the connection:\n\n")
				fmt.Fprintln(m.Stdout, begun.URL)
				fmt.Fprintf(m.Stderr, "\nThen paste the address that the browser was sent to:\n")
				q.State = begun.State
				if q.Address, err = readLine(m.Stdin); err != nil {
					return err
				}
				if _, err := control.Call[struct{}](cmd.Context(), ops, "auth.finish", q, nil); err != nil {
					return err
				}
				_, err = fmt.Fprintf(m.Stderr, "account %s is connected\n", args[0])
				return err
			})
		},
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
		Use:   "status ACCOUNT",
		Short: "Say whether an account is connected, and until when",
		Args:  usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				s, err := control.Call[api.OAuthStatus](cmd.Context(), ops, "auth.status", control.AuthRequest{Account: args[0]}, nil)
				if err != nil {
					return err
				}
				if m.json {
					return printJSON(m.Stdout, s)
				}
				if !s.Connected {
					_, err = fmt.Fprintf(m.Stdout, "%s is not connected: %s; run: minutebook auth login %s\n", args[0], s.Reconnect, args[0])
					return err
				}
				_, err = fmt.Fprintf(m.Stdout, "%s is connected; its access token is renewed before %s\n", args[0], s.Expires.Local().Format(time.DateTime))
				return err
			})
		},
	})
}
