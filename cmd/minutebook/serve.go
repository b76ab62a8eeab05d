package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"minutebook/config"
	"minutebook/internal/process"
)

func (m *Main) serveCmd() *cobra.Command {
	var create bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: receive, fetch, index and show",
		Long: `Run the daemon until it is told to stop (Ctrl-C, SIGTERM). The first line printed
is the page's address; logs go to standard error. SIGHUP changes nothing: restart it to
load another configuration.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			return m.runDaemon(cmd.Context(), cfg, create)
		},
	}
	cmd.Flags().BoolVar(&create, "create", false, "create the archive when it is not there")
	return cmd
}

func (m *Main) runDaemon(ctx context.Context, cfg *config.Config, create bool) (err error) {
	process.Tune(cfg.Process.Threads, cfg.Process.MemoryLimit)
	log := m.logger(cfg)
	file, err := m.readConfiguration()
	if err != nil {
		return err
	}
	defer ignoreHangup(log)()
	d, err := startDaemon(ctx, cfg, log, appOptions{Version: m.Version, Create: create, Daemon: true, Configuration: file})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if _, err := fmt.Fprintln(m.Stdout, d.localURL()); err != nil {
		return err
	}
	return d.Run(ctx)
}
