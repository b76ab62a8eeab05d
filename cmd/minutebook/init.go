package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"minutebook/archive"
	"minutebook/config"
)

func (m *Main) initCmd() *cobra.Command {
	var moved bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create an empty archive",
		Long: `Create an empty archive in the data directory. Nothing else creates one, so
that a misspelt data_dir is an error and not a second, empty archive. An archive
that is there stays as it is.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			return m.createArchive(cmd.Context(), cfg, moved)
		},
	}
	cmd.Flags().BoolVar(&moved, "moved", false, "the service this archive holds has the configured base_url now")
	return cmd
}

func (m *Main) createArchive(ctx context.Context, cfg *config.Config, moved bool) (err error) {
	a, err := archive.Open(ctx, archive.Options{
		Dir: cfg.DataDir, Create: true, MediaURL: cfg.Media.URL, Logger: m.logger(cfg), Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if moved && len(cfg.Accounts) > 0 {
		err := a.SetMarks(ctx, archive.Mark{Key: serviceMark, Value: []byte(cfg.Accounts[0].BaseURL)})
		if err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(m.Stdout, "archive ready in %s\n", cfg.DataDir)
	return err
}
