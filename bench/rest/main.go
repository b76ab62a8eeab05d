// Rest measures the memory and the processor time that a daemon takes while nobody asks it
// anything, beside a large archive and an account at a sandbox of the service:
//
//	go run ./bench/rest [-meetings N] [-data DIR] [-time 15m] [-program FILE]
//
// The program is built as the packages have it. With -data the archive, its index and the
// sandbox stay for further runs; an archive of `bench/search -fill -data DIR/archive` serves
// too. The index is built by a first daemon, whose work is not measured: the second one
// begins as after a restart.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/bench/corpus"
	"minutebook/sample"
)

type options struct {
	meetings int
	data     string
	time     time.Duration
	program  string
	service  string
}

func main() {
	var o options
	flag.IntVar(&o.meetings, "meetings", 100_000, "how many meetings at least")
	flag.StringVar(&o.data, "data", "", "keep the archive, its index and the sandbox here")
	flag.DurationVar(&o.time, "time", 15*time.Minute, "for how long")
	flag.StringVar(&o.program, "program", "", "the program, instead of building it")
	flag.StringVar(&o.service, "service", "127.0.0.1:8599", "address of the sandbox, which an archive that is kept remembers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.data == "" {
		if o.data, err = os.MkdirTemp("", "rest"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.data)) }()
	}
	if err := fill(ctx, o); err != nil {
		return err
	}
	if o.program == "" {
		o.program = filepath.Join(o.data, "minutebook")
		build := exec.CommandContext(ctx, "packaging/build", o.program)
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build the program: %w", err)
		}
	}
	sandbox, err := startSandbox(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sandbox.end()) }()
	if err := complete(ctx, o); err != nil {
		return err
	}
	daemon, err := start(ctx, o.program, "serve", "-c", o.config())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.end()) }()
	return measure(ctx, o, daemon.cmd.Process.Pid)
}

// archive is the folder of the archive.
func (o options) archive() string { return filepath.Join(o.data, "archive") }

// config is the file of the daemon's configuration.
func (o options) config() string { return filepath.Join(o.data, "config.toml") }

// fill makes the archive.
func fill(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return err
	}
	a, err := archive.Open(ctx, archive.Options{Dir: o.archive(), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	return errors.Join(corpus.Fill(ctx, a, o.meetings), a.Close())
}

// startSandbox starts a service with the sample's meetings, and writes the configuration of a
// daemon with an account there. A sandbox that was there before says its key no more.
func startSandbox(ctx context.Context, o options) (*child, error) {
	dir, file := filepath.Join(o.data, "service"), filepath.Join(o.data, "sample.ndjson")
	args := []string{"service", "--data", dir, "--listen", o.service}
	_, err := os.Stat(o.config())
	isNew := errors.Is(err, os.ErrNotExist)
	if isNew {
		out, err := os.Create(file)
		if err != nil {
			return nil, err
		}
		_, err = out.ReadFrom(sample.NDJSON(sample.Base()))
		if err := errors.Join(err, out.Close()); err != nil {
			return nil, err
		}
		args = append(args, "--load", file)
	}
	sandbox, err := start(ctx, o.program, args...)
	if err != nil || !isNew {
		return sandbox, err
	}
	var key string
	if _, err := fmt.Sscanf(sandbox.line(), "api_key %s", &key); err != nil {
		return nil, errors.Join(fmt.Errorf("read the key of the sandbox: %w", err), sandbox.end())
	}
	text := fmt.Sprintf("data_dir = %q\n[web]\nlisten = \"127.0.0.1:0\"\n[media]\ndownload = false\n[[accounts]]\nname = \"ada\"\nbase_url = \"http://%s/external/v1\"\napi_key = %q\nallow_private = true\n",
		"archive", o.service, key)
	if err := os.WriteFile(o.config(), []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, sandbox.end())
	}
	return sandbox, nil
}

// complete runs a daemon until the account is read and everything is indexed.
func complete(ctx context.Context, o options) (err error) {
	daemon, err := start(ctx, o.program, "serve", "-c", o.config())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.end()) }()
	began := time.Now()
	for {
		out, err := exec.CommandContext(ctx, o.program, "status", "--json", "-c", o.config()).Output()
		if err != nil {
			return fmt.Errorf("ask for the status: %w", err)
		}
		var s struct {
			Meetings, Indexed int
			Accounts          []struct{ Backfilled bool }
		}
		if err := json.Unmarshal(out, &s); err != nil {
			return err
		}
		if s.Meetings >= o.meetings && s.Indexed == s.Meetings && len(s.Accounts) == 1 && s.Accounts[0].Backfilled {
			fmt.Fprintf(os.Stderr, "%d meetings are indexed and the account is read after %s\n", s.Meetings, time.Since(began).Round(time.Second))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}
