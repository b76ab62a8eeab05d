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
		Long: `Prints an address. Open it in a browser and allow the connection. The command ends when the
browser has come back to the receiver, which says that the account is connected. Where the
browser does not say so, paste the address it was sent to. Without a terminal nothing is asked:
that address is read from standard input. The connection of an account that is connected already
goes on until the new one replaces it.`,
		Args: checkArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.withOperations(cmd.Context(), func(ops control.Caller) error {
				return m.login(cmd.Context(), ops, control.AuthRequest{Account: args[0]})
			})
		},
	}
}

// login waits until the redirect has reached the daemon, or a person has pasted
// the address of the redirect.
func (m *Main) login(ctx context.Context, ops control.Caller, q control.AuthRequest) error {
	before, err := control.Call[api.OAuthStatus](ctx, ops, "auth.status", q, nil)
	if err != nil {
		return err
	}
	started, err := control.Call[control.AuthBegun](ctx, ops, "auth.begin", q, nil)
	if err != nil {
		return err
	}
	if before.Connected {
		fmt.Fprintf(m.Stderr, "Account %s is connected already. Another connection replaces the present one, which goes on until then.\n", q.Account)
	}
	fmt.Fprintf(m.Stderr, "Open this address in a browser and allow the connection:\n\n")
	fmt.Fprintln(m.Stdout, started.URL)
	if m.isTerminal(m.Stdin) {
		fmt.Fprintf(m.Stderr, "\nWhere the browser then does not say that the account is connected, paste the address it was sent to:\n")
	}
	_, hasDaemon := ops.(*control.Client)
	line := m.readPasted()
	look := time.NewTicker(2 * time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-line:
			if errors.Is(p.err, errNothingPasted) && hasDaemon {
				line = nil // nobody can paste, as without a terminal: the redirect reaches the daemon
				continue
			}
			if p.err != nil {
				return p.err
			}
			q.State, q.Address = started.State, p.address
			if _, err := control.Call[struct{}](ctx, ops, "auth.finish", q, nil); err != nil {
				return err
			}
		case <-look.C:
			now, err := control.Call[api.OAuthStatus](ctx, ops, "auth.status", q, nil)
			if err != nil {
				return err
			}
			if !now.Connected || now.Connection == before.Connection { // a renewal gives no consent
				continue
			}
		}
		_, err := fmt.Fprintf(m.Stderr, "account %s is connected\n", q.Account)
		return err
	}
}

// pasted is a line of standard input, or the error of reading it.
type pasted struct {
	address string
	err     error
}

// readPasted sends the next line of standard input. Its goroutine ends with standard
// input, at the latest with the process.
func (m *Main) readPasted() <-chan pasted {
	line := make(chan pasted, 1)
	go func() {
		address, err := readLine(m.Stdin)
		line <- pasted{address, err}
	}()
	return line
}

// errNothingPasted says that standard input has ended.
var errNothingPasted = errors.New("read the address that the browser was sent to: standard input has none; give it there, or start the daemon, to which the browser comes back")

// readLine reads the address from standard input: an argument would be seen in
// the process list, and it carries a code.
func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the address: %w", err)
	}
	if line == "" {
		return "", errNothingPasted
	}
	return line, nil
}

func (m *Main) authStatusCmd() *cobra.Command {
	return m.jsonFlag(&cobra.Command{
		Use:   "status [ACCOUNT]",
		Short: "Show whether an account, or each of them, is connected, and until when",
		Long: "Show whether an account, or each of them, is connected, and until when.\n" +
			"The exit code is 3 when one of them is not connected, or the service refuses it.",
		Args: checkArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return m.authStatuses(cmd)
			}
			s, err := call[control.AuthAccount](cmd.Context(), m, "auth.status", control.AuthRequest{Account: args[0]}, nil)
			if err != nil {
				return err
			}
			return errors.Join(m.printResult(s, "%s", formatConnection(s)), notUsable(s))
		},
	})
}

// authStatuses prints the state of every account that connects through an OAuth app.
func (m *Main) authStatuses(cmd *cobra.Command) error {
	list, err := call[control.AuthList](cmd.Context(), m, "auth.list", struct{}{}, nil)
	if err != nil {
		return err
	}
	text := ""
	if len(list.Accounts) == 0 {
		text = "no account has [accounts.oauth] in the configuration\n"
	}
	var open error
	for _, a := range list.Accounts {
		text += formatConnection(a)
		if open == nil {
			open = notUsable(a)
		}
	}
	return errors.Join(m.printResult(list, "%s", text), open)
}

// notConnectedCode is the exit code of `auth status` for an account that waits for a
// person.
const notConnectedCode = 3

func notUsable(a control.AuthAccount) error {
	switch {
	case !a.Connected:
		return &control.Error{Message: "auth status: not connected", ExitCode: notConnectedCode}
	case a.Suspended != "":
		return &control.Error{Message: "auth status: the service refuses it", ExitCode: notConnectedCode}
	}
	return nil
}

func formatConnection(a control.AuthAccount) string {
	switch {
	case !a.Connected:
		return fmt.Sprintf("%s is not connected: %s; run: minutebook auth login %s\n", a.Account, a.Reconnect, a.Account)
	case a.Suspended != "":
		return fmt.Sprintf("%s is connected, and the service refuses it: %s\n", a.Account, a.Suspended)
	case a.Expires.IsZero():
		return fmt.Sprintf("%s is connected\n", a.Account)
	}
	return fmt.Sprintf("%s is connected; its access token is renewed before %s\n", a.Account, a.Expires.Local().Format(time.DateTime))
}
