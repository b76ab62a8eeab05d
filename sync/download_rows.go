package syncer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"minutebook/archive"
)

// noteFailure notes that a recording rests after an error; nil means that it goes on.
func (l *downloader) noteFailure(id int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failed, id)
	if err != nil {
		l.failed[id] = err
		l.wake()
	}
}

// failedPause is how long a recording rests after an error that its row does not have.
const failedPause = time.Minute

// saveRow writes the row of a task to the archive and then makes it the task's.
func (l *downloader) saveRow(ctx context.Context, t *downloadTask, row archive.Download) error {
	if err := l.s.archive.SaveDownload(context.WithoutCancel(ctx), row); err != nil {
		return err
	}
	l.setRow(t, row)
	return nil
}

// setRow makes a row the task's. It does not write it to the archive.
func (l *downloader) setRow(t *downloadTask, row archive.Download) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.row = row
}

// closeRow is saveRow for a final state. It also resolves the recording's failures,
// those of other accounts that were asked before too.
func (l *downloader) closeRow(ctx context.Context, t *downloadTask, row archive.Download) error {
	return errors.Join(l.saveRow(ctx, t, row), l.s.archive.ResolveFailure(context.WithoutCancel(ctx), "",
		classDownload, strconv.FormatInt(row.RecordingID, 10)))
}

// lowDiskError says that recordings wait for space on the disk.
type lowDiskError struct {
	free, floor, need int64
}

// Error names the free space, the space needed and the remedy.
func (e *lowDiskError) Error() string {
	return fmt.Sprintf("keep the disk from filling up: %d MB are free, %d MB must stay free (media.min_free_bytes) and %d MB are needed; free some space, or lower that minimum",
		e.free>>20, e.floor>>20, e.need>>20)
}

// checkDiskSpace returns a [lowDiskError] if storing that many bytes would
// leave less than MinFree on the disk.
func (s *Syncer) checkDiskSpace(bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Clean(s.archive.Dir()), &st); err != nil {
		return fmt.Errorf("read how much space the disk has: %w", err)
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if free-bytes < s.opt.MinFree {
		return &lowDiskError{free: free, floor: s.opt.MinFree, need: bytes}
	}
	return nil
}
