package syncer

import (
	"context"
	"errors"
	"testing"
	"time"

	"minutebook/archive"
	"minutebook/archive/media"
	"minutebook/internal/testrun"
)

// A recording rests while the disk of the store, which is not that of the archive, cannot be
// written, so that status says why, and is stored afterwards without another request.
func TestRecordingsRestWhileTheirStoreCannotBeWritten(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for name, setBroken := range map[string]func(disk testrun.Disk, broken bool){
		"full": func(disk testrun.Disk, broken bool) {
			if broken {
				disk.Fill()
			} else {
				disk.Clear()
			}
		},
		"read-only": func(disk testrun.Disk, broken bool) { disk.SetReadOnly(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := testrun.SmallDisk(t, 1)
			h := newMediaHost(t, 300_000)
			s, task := testLoaderTo(t, h, true, "file://"+disk.Dir)
			task.waitedFor = false
			if err := media.Check(t.Context(), s.downloads.store); err != nil {
				t.Fatal(err)
			}
			setBroken(disk, true)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			if err := s.downloads.advance(ctx, task); ctx.Err() != nil || err == nil || !isLocal(err) {
				t.Errorf("while it cannot be written: %v, %v", err, ctx.Err())
			}
			if task.row.State != archive.DownloadReady || task.row.Failures > 0 {
				t.Errorf("the recording does not rest: %+v", task.row)
			}
			setBroken(disk, false)
			if err := s.downloads.advance(t.Context(), task); err != nil {
				t.Fatal(err)
			}
			wantKept(t, s, h.data)
			if n := h.requests.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestTheStoresDiskKeepsRoom has room on the disk of the archive, and less than is to stay free on
// that of the store: nothing is fetched there.
func TestTheStoresDiskKeepsRoom(t *testing.T) {
	testrun.SkipUnderRace(t)
	disk := testrun.SmallDisk(t, 16)
	h := newMediaHost(t, 300_000)
	s, task := testLoaderTo(t, h, true, "file://"+disk.Dir)
	task.waitedFor = false
	s.opt.MinFree = 16<<20 - 100_000
	var room *lowDiskError
	if err := s.downloads.advance(t.Context(), task); !errors.As(err, &room) {
		t.Errorf("with too little room: %v", err)
	}
	s.opt.MinFree = 1 << 20
	if err := s.downloads.advance(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, h.data)
}
