package years

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/archive"
	"minutebook/internal/testrun"
)

// TestFaultsOfTheDiskLast has the disk fail, and a kill come, after a time without work:
// in it the program could have closed its connections.
func TestFaultsOfTheDiskLast(t *testing.T) {
	testrun.SkipUnderRace(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, dir, options{days: 75})
		defer w.end()
		h := w.start(w.dataDir)
		commit := func() error {
			return h.archive.SetMarks(context.Background(), archive.Mark{Key: "simulated", Value: []byte("1")})
		}
		for range 2 {
			time.Sleep(time.Hour)
			h.sick.Store(1)
			if commit() == nil {
				t.Error("a commit succeeds while the disk is sick")
			}
			h.sick.Store(0)
			if err := commit(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour)
		h.fatal.Store(1)
		if commit() == nil || !h.dead.Load() {
			t.Error("a commit succeeds in place of a kill")
		}
	})
}
