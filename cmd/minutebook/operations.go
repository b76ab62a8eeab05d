package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
)

// daemonStart is how long a command waits for a daemon that has locked the archive
// and does not answer yet. It is short, so that a process that never answers is
// reported within a second.
const daemonStart = 800 * time.Millisecond

// withOperations runs work with the operations of the archive: the daemon's
// when one owns the data directory, otherwise ones that open it here.
func (m *Main) withOperations(ctx context.Context, work func(control.Caller) error) error {
	cfg, err := m.loadConfig()
	if err != nil {
		return err
	}
	given, err := m.readConfiguration()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(daemonStart)
	for {
		client, err := control.Dial(ctx, cfg.DataDir)
		if err == nil {
			defer client.Close()
			if err := m.warnOfOtherConfiguration(ctx, client, given); err != nil {
				return err
			}
			return work(client)
		}
		if !errors.Is(err, control.ErrNoDaemon) {
			return err
		}
		err = m.withOwnApp(ctx, cfg, given, work)
		if !errors.Is(err, archive.ErrInUse) || time.Now().After(deadline) {
			return err
		}
		select { // a daemon is just starting or stopping
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// warnOfOtherConfiguration writes to standard error when the daemon runs with
// other settings than those of the command.
func (m *Main) warnOfOtherConfiguration(ctx context.Context, daemon control.Caller, given control.Configuration) error {
	running, ok, err := control.RunningConfiguration(ctx, daemon)
	if err != nil || !ok {
		return err
	}
	if m.reloading && given.Path == running.Path {
		return nil // that the file has changed is why the command is given
	}
	if difference := given.Differs(running); difference != "" {
		fmt.Fprintln(m.Stderr, "minutebook: "+difference)
	}
	return nil
}

// withOwnApp opens the archive in this process and runs work on it.
func (m *Main) withOwnApp(ctx context.Context, cfg *config.Config, given control.Configuration, work func(control.Caller) error) (err error) {
	app, err := openApp(ctx, cfg, m.logger(cfg), appOptions{Version: m.Version, Configuration: given})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.Close()) }()
	return work(control.Operations(app.deps()))
}

// isTerminal reports whether the stream is a terminal.
func (m *Main) isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// usesColour reports whether standard output may have colours (https://no-color.org).
func (m *Main) usesColour() bool {
	return m.getenv("NO_COLOR") == "" && m.isTerminal(m.Stdout)
}

// checkArgs makes a wrong number of arguments a [usageError].
func checkArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{fmt.Errorf("%s: %w; see minutebook %s --help", cmd.Name(), err, cmd.Name())}
		}
		return nil
	}
}
