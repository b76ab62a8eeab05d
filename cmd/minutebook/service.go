package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"minutebook/archive"
	"minutebook/control"
	"minutebook/internal/httpserver"
	"minutebook/service"
	"minutebook/service/limit"
)

// sandboxOptions are the flags of `service`.
type sandboxOptions struct {
	service.Options
	listen    string
	load      []string
	directory string
	times     httpserver.Times
}

func (m *Main) serviceCmd() *cobra.Command {
	var o sandboxOptions
	cmd := &cobra.Command{
		Use:   "service --data DIR",
		Short: "Run the service's interface alone, as a sandbox for programs and tests",
		Long: `Run the service's interface alone, under /external/v1. The first line printed is
the address; at the first start an administrator's API key follows. The last is the
base_url of an account or a program. What it does where the specification is silent is
written in docs/service.md.`,
		Args: checkArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if m.dataDir == "" {
				return &usageError{errors.New("run the service: name its folder with --data DIR")}
			}
			return m.runSandbox(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on")
	checkListen(f)
	f.StringArrayVar(&o.load, "load", nil, "load meetings from this NDJSON `file` (may be repeated)")
	f.StringVar(&o.directory, "directory", "", "load users, teams, permissions and shares from this JSON `file`")
	o.addFlags(f)
	cmd.AddCommand(m.serviceAdminCmds()...)
	return cmd
}

// addFlags adds the flags for the behaviour of the sandbox.
func (o *sandboxOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.Hold, "hold", 0, "keep the newest `N` loaded meetings back")
	f.DurationVar(&o.NewEvery, "new-every", 0, "finish one of those kept back every so often, such as 30s")
	f.DurationVar(&o.Generation, "generation", 35*time.Second, "how long a recording takes to be generated")
	f.StringVar((*string)(&o.Window), "window", "", "how limits count: fixed or sliding (default fixed, or what service limits has set)")
	limitFlag(f, "window", limit.Fixed, limit.Sliding)
	f.BoolVar(&o.Elevated, "elevated", false, "lower the heavy limit to 5 a minute")
	f.IntVar(&o.DownloadLimit, "download-limit", 0, "download requests a minute, instead of 30")
	f.DurationVar(&o.Latency, "latency", 0, "added to every answer")
	f.StringVar(&o.Faults, "faults", "", "faults to inject, see docs/service.md")
	checkFaults(f)
	f.BoolVar(&o.AllowPrivate, "allow-private", false, "webhooks and callbacks may go to private addresses; so it is while listening on loopback")
}

func (m *Main) runSandbox(ctx context.Context, o sandboxOptions) (err error) {
	cfg, err := m.loadConfig()
	if err != nil {
		return err
	}
	log := m.logger(cfg)
	defer ignoreHangup(log)()
	l, err := listen("--listen", o.listen)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, name := range append(slices.Clone(o.load), o.directory) { // before anything is made
		if _, err := os.Stat(name); name != "" && err != nil {
			return fmt.Errorf("load the sandbox: %w", err)
		}
	}
	a, err := archive.Open(ctx, archive.Options{Dir: cfg.DataDir, Create: true, Logger: log, Now: time.Now, Schemas: sideSchemas()})
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, a.Close()); err == nil {
			log.Info().Msg("stopped")
		}
	}()
	if err := refuseRealMeetings(ctx, a, cfg.DataDir); err != nil {
		return err
	}
	commands, err := control.OpenSocket(ctx, cfg.DataDir)
	if err != nil {
		return err
	}
	defer commands.Close()
	if err := m.serveSandbox(ctx, a, commands, l, o, log); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// refuseRealMeetings fails for an archive that reads from a service, or has meetings and no state of
// a sandbox: a sandbox would mix invented meetings and people with those of real ones. Nothing is
// changed then.
func refuseRealMeetings(ctx context.Context, a *archive.Archive, dir string) error {
	url, err := a.Mark(ctx, serviceMark)
	switch {
	case err != nil:
		return err
	case url != nil:
		return &usageError{fmt.Errorf("run the service: %s is an archive of %s and no sandbox; name another directory with --data", dir, url)}
	}
	if _, err := os.Stat(filepath.Join(dir, service.DatabaseName)); !errors.Is(err, fs.ErrNotExist) {
		return err // [service.New] reads whether it is a sandbox
	}
	counts, err := a.Counts(ctx)
	if err == nil && counts.Meetings+counts.Forgotten > 0 {
		err = &usageError{fmt.Errorf("run the service: %s is an archive with meetings and no sandbox; name another directory with --data", dir)}
	}
	return err
}

// serveSandbox loads the sandbox of an archive and answers on l and for commands until ctx ends.
func (m *Main) serveSandbox(ctx context.Context, a *archive.Archive, commands *control.Socket, l net.Listener, o sandboxOptions, log zerolog.Logger) error {
	url := urlFor("http", l.Addr())
	s, err := m.newSandbox(ctx, a, o, url, log)
	if err != nil {
		return err
	}
	commands.Ready(control.ServiceOperations(s))
	if err := m.announce(ctx, s, url); err != nil {
		return err
	}
	log.Info().Str("base_url", url+service.BasePath).Msg("serving")
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return commands.Run(ctx) })
	g.Go(func() error { return serveHTTP(ctx, l, s.Handler(), o.times, log) })
	g.Go(func() error { return s.Run(ctx) })
	return g.Wait()
}

func (m *Main) newSandbox(ctx context.Context, a *archive.Archive, o sandboxOptions, url string, log zerolog.Logger) (*service.Service, error) {
	o.Archive, o.Sandbox = a, true
	if isLoopback(o.listen) {
		o.PublicURL = url // other callers have an address of their own for this machine
	}
	o.AllowPrivate = o.AllowPrivate || isLoopback(o.listen)
	o.Now, o.Logger = time.Now, log
	s, err := service.New(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	for _, name := range o.load {
		if err := loadFile(ctx, s, name); err != nil {
			return nil, err
		}
	}
	if o.directory == "" {
		return s, nil
	}
	f, err := os.Open(o.directory)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	defer f.Close()
	return s, s.LoadDirectory(ctx, f, o.directory)
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func loadFile(ctx context.Context, s *service.Service, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("open meetings: %w", err)
	}
	defer f.Close()
	_, err = s.Load(ctx, f, name)
	return err
}

// announce prints the address, at the first start the administrator's key, which is shown
// only this once, and the base_url.
func (m *Main) announce(ctx context.Context, s *service.Service, url string) error {
	key, created, err := s.EnsureAdminKey(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(m.Stdout, url); err != nil {
		return err
	}
	if created {
		if _, err := fmt.Fprintf(m.Stdout, "api_key %s\n", key); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(m.Stdout, "base_url %s\n", url+service.BasePath)
	return err
}
