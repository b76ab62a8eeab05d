package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"minutebook/archive"
	"minutebook/internal/diskspace"
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
	return l.saveRowBy(ctx, t, row, l.s.archive.SaveDownload)
}

func (l *downloader) saveRowBy(ctx context.Context, t *downloadTask, row archive.Download, save func(context.Context, archive.Download) error) error {
	switch row.State { // a time that lies in the future later is a wrong clock's
	case archive.DownloadWanted:
		row.RequestedAt = l.s.now() // which dated Due
	case archive.DownloadRefused, archive.DownloadNone:
		row.Due = l.s.now()
	}
	if err := save(context.WithoutCancel(ctx), row); err != nil {
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
	return errors.Join(l.saveRow(ctx, t, row), l.resolveFailures(ctx, row))
}

// resolveFailures resolves the failures of a recording, because no account that failed
// tries again: it is settled, or another account's.
func (l *downloader) resolveFailures(ctx context.Context, row archive.Download) error {
	return l.s.archive.ResolveFailure(context.WithoutCancel(ctx), "", classDownload, strconv.FormatInt(row.RecordingID, 10))
}

// lowDiskError says that recordings wait for space on the disk.
type lowDiskError struct {
	dir               string // on the disk
	free, floor, need int64
}

// Error names the free space, the space needed and the remedy.
func (e *lowDiskError) Error() string {
	return fmt.Sprintf("keep the disk of %s from filling up: %d MB are free, %d MB must stay free (media.min_free_bytes) and %d MB are needed; free some space, or lower that minimum",
		e.dir, e.free>>20, e.floor>>20, e.need>>20)
}

// checkDiskSpace returns a [lowDiskError] if storing that many bytes would
// leave less than MinFree on the disk of the archive, where the parts of a recording
// are, or on that of its store.
func (s *Syncer) checkDiskSpace(bytes int64) error {
	for _, dir := range []string{s.archive.Dir(), s.archive.MediaDir()} {
		free, _, err := diskspace.Read(dir)
		if err != nil {
			return err
		}
		if free-bytes < s.opt.MinFree {
			return &lowDiskError{dir: dir, free: free, floor: s.opt.MinFree, need: bytes}
		}
	}
	return nil
}

// wantedQueue are recordings that may be requested, those of the newest meetings first.
// A read looks at all wanted recordings, so it returns many at a time. The queue is read
// again when it is empty, changed or a minute old.
type wantedQueue struct {
	ids     []int64
	read    time.Time
	busy    []string // the accounts whose recordings were left out
	changed bool     // others are wanted since
}

const (
	queueLength = 256
	queueAge    = time.Minute
)

// wakeForChange wakes the run because other recordings are wanted.
func (l *downloader) wakeForChange() {
	l.mu.Lock()
	l.queue.changed = true
	l.mu.Unlock()
	l.wake()
}

// nextWanted returns the row of the next recording that may be requested and that is not
// open, or [archive.ErrNotFound]. It leaves out the recordings that only busy accounts see.
func (l *downloader) nextWanted(ctx context.Context, now time.Time, open map[int64]bool) (archive.Download, error) {
	busy := l.busyAccounts()
	for wasRead := false; ; {
		id, ok := l.popWanted(now, busy)
		if !ok {
			if wasRead {
				return archive.Download{}, archive.ErrNotFound
			}
			ids, err := l.s.archive.WantedDownloads(ctx, now, queueLength+len(open), busy...)
			if err != nil {
				return archive.Download{}, err
			}
			wasRead = true
			l.mu.Lock()
			l.queue.ids, l.queue.read, l.queue.busy = ids, now, busy
			l.mu.Unlock()
			continue
		}
		if open[id] {
			continue
		}
		row, err := l.s.archive.WantedDownload(ctx, id, now) // it may have changed since
		if !errors.Is(err, archive.ErrNotFound) {
			return row, err
		}
	}
}

// popWanted takes a recording from the queue; ok is false when it has to be read.
func (l *downloader) popWanted(now time.Time, busy []string) (id int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	age := now.Sub(l.queue.read)
	if l.queue.changed || !slices.Equal(l.queue.busy, busy) || age < 0 || age > queueAge {
		l.queue = wantedQueue{}
	}
	if len(l.queue.ids) == 0 {
		return 0, false
	}
	id = l.queue.ids[0]
	l.queue.ids = l.queue.ids[1:]
	return id, true
}
