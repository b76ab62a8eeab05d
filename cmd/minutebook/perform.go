package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"minutebook/control"
)

// perform runs an operation and prints its result: as JSON, or as show does. event
// is called with what the operation reports on its way; nil: nobody wants it.
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

// counted is call, showing on a terminal how far the operation has come.
func counted[R any](ctx context.Context, m *Main, name string, request any) (R, error) {
	shown := false
	result, err := call[R](ctx, m, name, request, func(raw json.RawMessage) error {
		var c control.Copied
		if !m.terminal(m.Stderr) || json.Unmarshal(raw, &c) != nil {
			return nil
		}
		shown = true
		_, err := fmt.Fprintf(m.Stderr, "\r%s %d", name, c.Done)
		return err
	})
	if shown {
		fmt.Fprintln(m.Stderr)
	}
	return result, err
}

// say prints a result: as JSON, or as a line for a person.
func (m *Main) say(result any, format string, values ...any) error {
	if m.json {
		return printJSON(m.Stdout, result)
	}
	_, err := fmt.Fprintf(m.Stdout, format, values...)
	return err
}
