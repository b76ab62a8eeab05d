package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"minutebook/control"
)

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
		_, err := fmt.Fprintf(m.Stderr, "\r%s %d", name, c.Done)
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
