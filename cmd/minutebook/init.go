package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
	"minutebook/internal/process"
)

func (m *Main) initCmd() *cobra.Command {
	var moved, offline bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create an empty archive",
		Long: `Create an empty archive in the data directory. Besides init only setup, demo,
service and serve --create create one, so that a misspelt data_dir is an error for all
other commands and not a second, empty archive. A directory that holds other files is
refused, whichever command creates the archive. An archive that is there stays as it
is. The address and the keys of the accounts are tried at the service by one call each,
unless --offline is given.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := m.loadConfig()
			if err != nil {
				return err
			}
			if moved && cfg.ServiceURL() == "" {
				return &usageError{errors.New("init: --moved takes the new base_url from the configuration, and there is none in it; name the configuration with -c FILE, since --data DIR alone reads none")}
			}
			return m.createArchive(cmd.Context(), cfg, moved, !offline)
		},
	}
	cmd.Flags().BoolVar(&moved, "moved", false, "the service this archive holds has the configured base_url now")
	cmd.Flags().BoolVar(&offline, "offline", false, "do not try the accounts at the service")
	return cmd
}

// createArchive creates the archive of a configuration. With try the accounts are tried.
func (m *Main) createArchive(ctx context.Context, cfg *config.Config, moved, try bool) (err error) {
	a, err := archive.Open(ctx, archive.Options{
		Dir: cfg.DataDir, Create: true, MediaURL: cfg.Media.URL, Logger: m.logger(cfg), Now: time.Now, Schemas: sideSchemas(),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if moved {
		if err := a.SetMarks(ctx, archive.Mark{Key: serviceMark, Value: []byte(cfg.ServiceURL())}); err != nil {
			return err
		}
	}
	if _, err = fmt.Fprintf(m.Stdout, "archive ready in %s\n", cfg.DataDir); err != nil || !try {
		return err
	}
	return m.tryAccounts(ctx, cfg, a)
}

// tryAccounts tries the keys of the accounts at the service. It fails when an address is
// wrong and the right one is found; a service that does not answer, or refuses a key, is
// reported on standard error, since an archive can be prepared before its service is there.
func (m *Main) tryAccounts(ctx context.Context, cfg *config.Config, a *archive.Archive) error {
	for i, account := range cfg.Accounts {
		if account.OAuth != nil {
			continue
		}
		budget := api.NewBudget(api.BudgetOptions{Connection: account.Name, Store: storeBudget(a, account), Now: time.Now, Uptime: process.Uptime})
		p := m.probeService(ctx, account.BaseURL, account.APIKey, budget)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case p.Err == nil && p.BaseURL != strings.TrimRight(account.BaseURL, "/"):
			return &usageError{fmt.Errorf("accounts[%d].base_url: the service of account %s answers at %s; write that", i, account.Name, p.BaseURL)}
		case p.Err != nil:
			fmt.Fprintf(m.Stderr, "minutebook: account %s: %v\n", account.Name, explainProbe(p))
		}
		if !p.Reached {
			break // all accounts have one service
		}
	}
	return nil
}
