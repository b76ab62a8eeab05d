package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/config"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// Beside a daemon, commands say when it runs with other settings than the file
// that they were given, and a preview of rules is one of that file's.
func TestCommandsTellOfAnotherConfiguration(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	dir := t.TempDir()
	config, other := filepath.Join(dir, "config.toml"), filepath.Join(dir, "other.toml")
	write := func(path, rules string) {
		t.Helper()
		if err := os.WriteFile(path, fmt.Appendf(nil, "data_dir = %q\n%s", filepath.Join(dir, "data"), rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) (stdout, stderr string, code int) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.Command("minutebook", args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	write(config, "")
	serve := start(t, "serve", "--create", "-c", config)
	if out, errs, code := command("retention", "--dry-run", "-c", config); !strings.HasPrefix(out, "no rules") || errs != "" || code != 0 {
		t.Errorf("the same file: %q, %q, %d", out, errs, code)
	}
	rule := "[[retention.rules]]\nmedia_after_days = 30\n"
	write(config, rule)
	write(other, rule+"[log]\nlevel = \"warn\"\n")
	for path, why := range map[string]string{config: "has changed since the daemon loaded it", other: "the daemon runs with " + config} {
		if out, errs, code := command("retention", "--dry-run", "-c", path); !strings.HasPrefix(out, "1 rule:") || !strings.Contains(errs, why) || code != 0 {
			t.Errorf("%s: %q, %q, %d", path, out, errs, code)
		}
		if _, errs, _ := command("search", "nothing", "-c", path); !strings.Contains(errs, why) {
			t.Errorf("search with %s says %q", path, errs)
		}
		if _, errs, code := command("retention", "--apply", "-c", path); !strings.Contains(errs, "reload them first") || code != 1 {
			t.Errorf("rules that the daemon does not run with: %q, %d", errs, code)
		}
	}
	if _, errs, _ := command("status", "--data", filepath.Join(dir, "data")); errs != "" {
		t.Errorf("without a file: %q", errs)
	}
	serve.stop()
	serve = start(t, "serve", "-c", config)
	run(t, "healthcheck", "-c", config)
	command("doctor", "-c", config)
	client, err := control.Dial(t.Context(), filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if s, err := control.Call[control.StatusResult](t.Context(), client, "status", control.StatusRequest{}, nil); err != nil || !s.Retention.Waiting || !s.Retention.From.IsZero() {
		t.Errorf("the notice of new rules begins before a person was shown them: %+v, %v", s.Retention, err)
	}
	if s := runJSON[control.StatusResult](t, "status", "-c", config); s.Retention == nil || !s.Retention.Waiting || s.Retention.From.IsZero() {
		t.Errorf("status shows %+v of new rules", s.Retention)
	}
	if out, _, code := command("retention", "-c", config); !strings.Contains(out, "wait until a day after") || code != 0 {
		t.Errorf("new rules: %q, %d", out, code)
	}
	run(t, "retention", "--apply", "-c", config)
	if s := runJSON[control.StatusResult](t, "status", "-c", config); s.Retention == nil || s.Retention.Waiting {
		t.Errorf("status shows %+v of accepted rules", s.Retention)
	}
	serve.stop()
}

// TestOtherRulesEndADeletion loads a configuration without rules at the first recording that
// the rules delete.
func TestOtherRulesEndADeletion(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen = archivetest.Dir(t), "127.0.0.1:0"
	next := cfg
	cfg.Retention.Rules = []config.RetentionRule{{MediaAfterDays: 1}}
	a := archivetest.Open(t, cfg.DataDir)
	for id := range int64(5) {
		archivetest.Apply(t, a, archivetest.Epoch, []byte(strings.ReplaceAll(string(archivetest.Meeting(id+1, "Old", "said")), "2026-", "2016-")))
		archivetest.Attach(t, a, id+1, fmt.Sprint("recording ", id))
	}
	if err := errors.Join(a.AcceptRetention(t.Context(), retentionRules(&cfg)), a.Close()); err != nil {
		t.Fatal(err)
	}
	var d *daemon
	deleted, loaded := 0, make(chan error, 10)
	log := zerolog.New(logHook(func(line []byte) {
		if bytes.Contains(line, []byte("deleted by a retention rule")) {
			deleted++
			_, err := d.loadAgain(t.Context())
			loaded <- err
		}
	}))
	d, err := startDaemon(t.Context(), &cfg, log, appOptions{LogLevel: &logLevel{}, Load: func() (*config.Config, control.Configuration, error) {
		return &next, control.Configuration{Path: "/config.toml"}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.runRetention(ctx) }()
	err = <-loaded
	time.Sleep(50 * time.Millisecond) // in which the rest would be deleted
	end()
	if err := errors.Join(err, <-ended); err != nil || deleted != 1 {
		t.Errorf("%d deleted, %v", deleted, err)
	}
	if err := d.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type logHook func(line []byte)

// Write implements [io.Writer].
func (h logHook) Write(line []byte) (int, error) { h(line); return len(line), nil }
