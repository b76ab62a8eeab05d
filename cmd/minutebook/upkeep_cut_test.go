package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
	"minutebook/archive/media"
	"minutebook/config"
	"minutebook/control"
)

// TestAJobThatIsCutShortIsNotDone ends the daemon within each job of upkeep: the log does
// not say that the job is done.
func TestAJobThatIsCutShortIsNotDone(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen, cfg.Backup.To = archivetest.Dir(t), "127.0.0.1:0", filepath.Join(t.TempDir(), "backups")
	var log bytes.Buffer
	d, err := startDaemon(t.Context(), &cfg, zerolog.New(zerolog.SyncWriter(&log)), appOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, job := range upkeepJobs {
		d.runUpkeepJob(ended, job, control.UpkeepPlan{}, control.UpkeepState{})
	}
	if bytes.Contains(log.Bytes(), []byte("job done")) {
		t.Errorf("the log says:\n%s", &log)
	}
}

// TestTheDaemonFinishesWhatForgetCouldNot has forget fail in a running daemon, and lets it try
// again.
func TestTheDaemonFinishesWhatForgetCouldNot(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir, cfg.Web.Listen = archivetest.Dir(t), "127.0.0.1:0"
	d, err := startDaemon(t.Context(), &cfg, zerolog.Nop(), appOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	archivetest.Apply(t, d.archive, archivetest.Epoch, archivetest.Meeting(1, "T", "said"))
	path := media.Path(d.archive.Media(), archivetest.Attach(t, d.archive, 1, "moving pictures").SHA256)
	if failed := d.tryForgetting(t.Context(), ""); failed != "" {
		t.Errorf("at first: %s", failed)
	}
	inside := filepath.Join(path, "file") // that cannot be deleted with it
	if err := errors.Join(os.Remove(path), os.MkdirAll(inside, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.archive.Forget(t.Context(), 1, "asked for"); err == nil {
		t.Error("forgotten at once")
	}
	if failed := d.tryForgetting(t.Context(), ""); failed == "" {
		t.Error("finished at once")
	}
	if err := os.Remove(inside); err != nil {
		t.Fatal(err)
	}
	if failed := d.tryForgetting(t.Context(), ""); failed != "" {
		t.Error(failed)
	}
	if n, _, err := d.archive.Forgetting(t.Context()); n != 0 || err != nil {
		t.Errorf("unfinished are %d, %v", n, err)
	}
}
