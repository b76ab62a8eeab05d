package control_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/control"
	"minutebook/internal/testrun"
)

// TestForgetEndsAProof forgets a meeting while the databases of a backup that has it lie
// restored in the scratch directory: they are gone when forget returns, and the proof counts
// for nothing. The clock, which the proof reads, says when that is.
func TestForgetEndsAProof(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := archivetest.Dir(t)
	scratch := filepath.Join(dir, archive.ProofDir)
	forgetting, forgotten := make(chan struct{}), make(chan error, 1)
	var a *archive.Archive
	var found atomic.Bool
	a = archivetest.OpenAt(t, dir, func() time.Time {
		if archivetest.Exists(filepath.Join(scratch, "archive.db")) && found.CompareAndSwap(false, true) {
			go func() {
				_, err := a.Forget(context.Background(), 1, "asked for")
				if err == nil && archivetest.Exists(scratch) {
					err = errors.New("the databases of the proof are still there")
				}
				forgotten <- err
			}()
			<-forgetting
		}
		return archivetest.Epoch
	})
	put(t, a, 1)
	to := t.TempDir()
	if _, err := backup.Run(t.Context(), a, to, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	a.OnForget("the first", func(context.Context, int64) error {
		select {
		case <-forgetting:
		default:
			close(forgetting)
		}
		return nil
	})
	h := control.Deps{Archive: a, Running: true, Logger: zerolog.Nop(), Proof: control.Proof{From: to}, Activities: &control.Activities{}}
	_, err := control.Call[backup.Proof](t.Context(), control.Operations(h), "prove", struct{}{}, nil)
	if err := <-forgotten; err != nil {
		t.Error(err)
	}
	u, failed := h.UpkeepState(t.Context(), control.UpkeepProve)
	if e, ok := errors.AsType[*control.Error](err); !ok || e.Kind != control.KindEnded || failed != nil || !u.Began.IsZero() {
		t.Errorf("the proof: %v, %+v, %v", err, u, failed)
	}
}
