package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/config"
)

// demoOptions are the flags of `demo`.
type demoOptions struct {
	dir      string // keeps the data; empty: a temporary folder, removed at the end
	meetings string // NDJSON file; empty: the sample
	listen   string // of the page
}

func (m *Main) demoCmd() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show all of it at work on invented meetings, without an account",
		Long: `Run the whole of Minutebook on one machine: a service with meetings in it, and
an archive that reads them over HTTP within the service's limits, receives
further ones as signed deliveries and fetches their recordings. The first line
printed is the page's address.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.configPath != "" {
				return &usageError{errors.New("show the demo: it has a configuration of its own; leave out -c")}
			}
			if err := m.takeData(cmd, "dir"); err != nil {
				return err
			}
			return m.runDemo(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.dir, "dir", "", "keep the data in this `directory`; commands read it with --data, which names it here too")
	cmd.Flags().StringVar(&o.meetings, "meetings", "", "load these instead: a `file` with a Meeting a line (.ndjson or .ndjson.gz)")
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the page")
	checkListen(cmd.Flags())
	return cmd
}

// runDemo runs until ctx ends. Both halves, the service and the archive, are the
// real ones and talk over loopback.
func (m *Main) runDemo(ctx context.Context, o demoOptions) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "minutebook-demo-"); err != nil {
			return fmt.Errorf("make a folder for the demo: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if err := checkDemoDir(o.dir); err != nil { // before the service's folder is made in it
		return err
	}
	log := m.logger(demoLog(m))
	defer ignoreHangup(log)()
	upstream, err := openUpstream(ctx, o, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, upstream.Close()) }()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return upstream.Run(ctx) })
	g.Go(func() error { return m.demoArchive(ctx, o, upstream, log) })
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// checkDemoDir fails for a directory that a demo cannot have. A demo makes its service before
// its archive, so an archive without one is a person's own.
func checkDemoDir(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "archive.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return archive.CheckFree(dir)
	}
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "upstream", "archive.db"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &usageError{fmt.Errorf("show the demo: %s holds an archive that is no demo's, and invented meetings would be mixed into it; name another directory with --dir", dir)}
	}
	if err != nil {
		return fmt.Errorf("look into the demo's directory: %w", err)
	}
	return nil
}

// demoLog returns quiet log settings, so that a newcomer sees the address first.
func demoLog(m *Main) *config.Config {
	c := config.Default()
	c.Log.Format = config.LogText
	c.Log.Level = "warn"
	if level := m.getenv("MINUTEBOOK_LOG_LEVEL"); level != "" {
		c.Log.Level = level
	}
	return &c
}
