package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/archive/archivetest"
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
