package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"minutebook/control"
	"minutebook/mcp"
)

func (m *Main) mcpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer the archive to an assistant (Model Context Protocol)",
		Long: `Answer an assistant over standard input and output: it can search the meetings,
read them and list what was agreed, and can change nothing. Works beside a
running daemon as well as without one, and leaves the archive to others between
two questions. The daemon answers the same at /mcp on the page's address.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := m.findDataDir()
			if err != nil {
				return err
			}
			if daemon, err := control.Dial(cmd.Context(), dir); err == nil {
				daemon.Close()
			} else if _, err := m.loadConfig(); err != nil { // a mistake is reported at once
				return err
			}
			return mcp.Serve(cmd.Context(), m.Stdin, m.Stdout, m.answerAssistant)
		},
	}
}

func (m *Main) answerAssistant(ctx context.Context, message json.RawMessage) (reply json.RawMessage, err error) {
	err = m.withOperations(ctx, func(ops control.Caller) error {
		answer, err := control.Call[control.AssistantResult](ctx, ops, "assistant", control.AssistantRequest{Message: message}, nil)
		reply = answer.Reply
		return err
	})
	return reply, err
}
