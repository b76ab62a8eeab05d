package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/phrase"
)

func (m *Main) healthcheckCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "healthcheck",
		Short: "Exit with 0 when the daemon answers, 1 otherwise (for containers)",
		Args:  checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.checkHealth(cmd.Context()); err != nil {
				return &control.Error{Message: phrase.Error(err), ExitCode: 1} // whatever is wrong: Docker reserves 2
			}
			return nil
		},
	}
}

// checkHealth asks the daemon for its state. A mistake in a configuration that it has not
// loaded says nothing about the daemon.
func (m *Main) checkHealth(ctx context.Context) error {
	path, err := m.configFile()
	if err != nil {
		return err
	}
	dir, err := config.FindDataDir(path, m.dataDir, m.Environ)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := control.Dial(ctx, dir)
	if err != nil {
		return fmt.Errorf("check %s: %w", dir, err)
	}
	defer client.Close()
	_, err = control.Call[control.StatusResult](ctx, client, "status", control.StatusRequest{}, nil)
	return err
}
