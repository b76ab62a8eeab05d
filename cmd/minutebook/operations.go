package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"minutebook/archive"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/phrase"
)

// daemonStart is how long a command waits for a daemon that has locked the archive
// and does not answer yet. It is short, so that a process that never answers is
// reported within a second.
const daemonStart = 800 * time.Millisecond

// withOperations runs work with the operations of the archive: the daemon's
// when one owns the data directory, otherwise ones that open it here.
func (m *Main) withOperations(ctx context.Context, work func(control.Caller) error) error {
	dir, err := m.findDataDir()
	if err != nil {
		return err
	}
	given, err := m.readConfiguration()
	if err != nil {
		return err
	}
	var cfg *config.Config
	deadline := time.Now().Add(daemonStart)
	for {
		client, err := control.Dial(ctx, dir)
		if err == nil {
			defer client.Close()
			if err := m.warnOfOtherConfiguration(ctx, client, given); err != nil {
				return err
			}
			return explainSight(work(client))
		}
		if !errors.Is(err, control.ErrNoDaemon) {
			return err
		}
		if cfg == nil {
			if cfg, err = m.loadConfig(); err != nil {
				return err
			}
			if cfg.DataDir != dir {
				dir = cfg.DataDir
				continue
			}
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

// findDataDir returns the data directory. A daemon there answers whatever else is wrong with
// the configuration here: its secrets may be in its own environment alone.
func (m *Main) findDataDir() (string, error) {
	path, err := m.configFile()
	if err != nil {
		return "", err
	}
	if dir, err := config.FindDataDir(path, m.dataDir, m.Environ); err == nil {
		return dir, nil
	}
	cfg, err := m.loadConfig() // names the mistake
	if err != nil {
		return "", err
	}
	return cfg.DataDir, nil
}

// explainSight says why a file that is there for the command may not be there for the
// daemon.
func explainSight(err error) error {
	var failed *control.Error
	if !errors.As(err, &failed) {
		return err
	}
	for _, end := range []string{phrase.Missing, "permission denied", "read-only file system"} {
		if strings.HasSuffix(failed.Message, end) {
			seen := *failed
			seen.Message += " (for the daemon, which does this and sees what its user and its unit may see)"
			return &seen
		}
	}
	return err
}

// warnOfOtherConfiguration writes to standard error when the daemon runs with
// other settings than those of the command.
func (m *Main) warnOfOtherConfiguration(ctx context.Context, daemon control.Caller, given control.Configuration) error {
	running, ok, err := control.RunningConfiguration(ctx, daemon)
	if err != nil || !ok {
		return err
	}
	if m.reloading && (given.Path == running.Path || running.Path == "") {
		return nil // reload says afterwards whether it loaded the file
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
	fd, ok := descriptor(stream)
	return ok && term.IsTerminal(fd)
}

// usesColour reports whether standard output may have colours (https://no-color.org).
func (m *Main) usesColour() bool {
	return m.getenv("NO_COLOR") == "" && m.isTerminal(m.Stdout)
}

// checkArgs makes a wrong number of arguments a [usageError].
func checkArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return explainArgs(cmd, args)
		}
		return nil
	}
}

// perform runs an operation and prints its result: as JSON, or as show does. The
// operation's events go to event, which may be nil.
func perform[R any](m *Main, cmd *cobra.Command, name string, request any, event func(json.RawMessage) error, show func(R) error) error {
	result, err := call[R](cmd.Context(), m, name, request, event)
	if err != nil {
		return err
	}
	if m.json {
		return printJSON(m.Stdout, result)
	}
	return show(result)
}

// call runs an operation.
func call[R any](ctx context.Context, m *Main, name string, request any, event func(json.RawMessage) error) (R, error) {
	var result R
	err := m.withOperations(ctx, func(ops control.Caller) (err error) {
		result, err = control.Call[R](ctx, ops, name, request, event)
		return err
	})
	return result, err
}

// callWithProgress is call, with the progress of the operation on a terminal.
func callWithProgress[R any](ctx context.Context, m *Main, name string, request any) (R, error) {
	printed := false
	result, err := call[R](ctx, m, name, request, func(raw json.RawMessage) error {
		var c control.Copied
		if !m.isTerminal(m.Stderr) || json.Unmarshal(raw, &c) != nil {
			return nil
		}
		printed = true
		_, err := fmt.Fprintf(rawStream(m.Stderr), "\r%s %d", name, c.Done)
		return err
	})
	if printed {
		fmt.Fprintln(m.Stderr)
	}
	return result, err
}

// printResult prints a result: as JSON, or as a line for a person.
func (m *Main) printResult(result any, format string, values ...any) error {
	if m.json {
		return printJSON(m.Stdout, result)
	}
	_, err := fmt.Fprintf(m.Stdout, format, values...)
	return err
}
