package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minutebook/control"
)

func (m *Main) healthcheckCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "healthcheck",
		Short: "Exit with 0 when the daemon answers, 1 otherwise (for containers)",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 5*time.Second)
			defer cancel()
			client, err := control.Dial(ctx, cfg.DataDir)
			if err != nil {
				return fmt.Errorf("check %s: %w", cfg.DataDir, err)
			}
			defer client.Close()
			_, err = control.Call[control.StatusResult](ctx, client, "status", control.StatusRequest{}, nil)
			return err
		},
	}
}
