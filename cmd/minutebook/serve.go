package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/process"
	"minutebook/internal/systemd"
)

func (m *Main) serveCmd() *cobra.Command {
	var create bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the daemon: receive, fetch, index and show",
		Long: `Run the daemon until it is told to stop (Ctrl-C, SIGTERM). The first line printed
is the page's address; logs go to standard error. SIGHUP, and ` + "`minutebook reload`" + `, load
the configuration again.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.runDaemon(cmd.Context(), create)
		},
	}
	cmd.Flags().BoolVar(&create, "create", false, "create the archive when it is not there")
	return cmd
}

func (m *Main) runDaemon(ctx context.Context, create bool) (err error) {
	// A crash, and the end by a watchdog, end the process by a signal: Go's own exit code
	// for them is 2, with which a manager takes the configuration for wrong and waits.
	debug.SetTraceback("crash")
	if err := process.RefuseCore(); err != nil {
		return err
	}
	signals, stop := notifyHangup()
	defer stop()
	cfg, file, err := m.loadFile("")
	if err != nil {
		return err
	}
	process.Tune(cfg.Process.Threads, cfg.Process.MemoryLimit)
	log, level := m.adjustableLogger(cfg)
	for _, v := range cfg.UnknownVariables(m.Environ) {
		switch {
		case v.IsEmpty():
			log.Warn().Str("variable", v.Name).Msg("this variable is empty, so that it adds no account")
		case v.LacksAccount:
			log.Warn().Str("variable", v.Name).Str("nearest", v.Nearest).Msg("this variable is a setting of no account, which the nearest would add")
		default:
			log.Warn().Str("variable", v.Name).Str("nearest", v.Nearest).Msg("this variable is no setting, and means nothing")
		}
	}
	sockets, err := systemd.Listeners()
	if err != nil {
		return &usageError{err}
	}
	d, err := startDaemon(ctx, cfg, log, appOptions{Version: m.Version, Create: create, Daemon: true,
		Page: sockets[systemd.PageSocket], Receiver: sockets[systemd.ReceiverSocket], Configuration: file, FirstConfiguration: m.findFirstConfiguration(file), LogLevel: level,
		Load: func() (*config.Config, control.Configuration, error) { return m.loadFile(cfg.DataDir) }})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, d.Close())
		log.Info().Msg("stopped")
	}()
	m.logWideSecrets(cfg, log) // now that the archive's owner is known
	if _, err := fmt.Fprintln(m.Stdout, d.localURL()); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.reloadOnHangup(ctx, signals) })
	g.Go(func() error { return d.Run(ctx) })
	return g.Wait()
}

// logWideSecrets warns of secrets that others can read. The archive does so of its own files.
func (m *Main) logWideSecrets(cfg *config.Config, log zerolog.Logger) {
	for _, w := range m.findWide(cfg, m.secretPaths(cfg)) {
		log.Warn().Str("path", w.path).Stringer("mode", w.mode).Str("private", w.private).Msg("others can reach this; chmod it to the mode in private")
	}
}

// loadFile loads the configuration, and identifies its file as it was before: a file
// that changes meanwhile counts as changed. running is the data directory of this process, ""
// before it has one.
func (m *Main) loadFile(running string) (*config.Config, control.Configuration, error) {
	file, identified := m.readConfiguration()
	cfg, err := m.loadConfigBeside(running)
	if err != nil {
		return nil, file, err // its error says more about a missing file
	}
	return cfg, file, identified
}

// findFirstConfiguration returns the file that loadFile reads once it is there, or "" where it
// reads one already or never does.
func (m *Main) findFirstConfiguration(file control.Configuration) string {
	if file.Path != "" || m.dataDir != "" {
		return ""
	}
	path, err := filepath.Abs(cmp.Or(m.getenv("MINUTEBOOK_CONFIG"), workingConfig))
	if err != nil { // the working directory is gone
		return ""
	}
	return path
}

// ignoreHangup logs SIGHUP instead of letting it end the program, until stop is
// called.
func ignoreHangup(log zerolog.Logger) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-signals:
				log.Warn().Msg("SIGHUP: this command has no configuration to load again")
			case <-done:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(done)
		waiting.Wait()
	}
}
