package syncer

import (
	"context"
	"errors"
	"time"

	"minutebook/archive"
)

// status describes the queue.
func (l *downloader) status(ctx context.Context) (DownloadStatus, error) {
	queue, err := l.s.archive.DownloadCounts(ctx)
	if err != nil {
		return DownloadStatus{}, err
	}
	lapsed, err := l.s.archive.CountLapsed(ctx)
	if err != nil {
		return DownloadStatus{}, err
	}
	left := queue[archive.DownloadWanted] + queue[archive.DownloadRequested] + queue[archive.DownloadReady]
	l.mu.Lock()
	defer l.mu.Unlock()
	return DownloadStatus{Queue: queue, Lapsed: lapsed, Rate: l.pace.measuredRate(), Left: l.pace.estimate(left).Seconds(), Paused: l.paused}, nil
}

// fetchAllRecordings waits until no recording is open or due. If the daemon
// works on the queue, it waits for the daemon.
func (s *Syncer) fetchAllRecordings(ctx context.Context, t *runStats) error {
	t.setJob("media")
	t.update(func(n *runCounts) { n.Media = true })
	if _, err := s.archive.WantDownloads(ctx); err != nil {
		return err
	}
	s.downloads.wakeForChange()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case s.downloads.runLock <- struct{}{}:
			<-s.downloads.runLock
			return s.downloads.run(ctx, true, t)
		default:
		}
		if done, err := s.downloads.isSettled(ctx); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return ctx.Err()
}

// isSettled reports whether the present run has nothing open and nothing due.
// It fails while downloads are paused, and while a recording rests after a failure of
// this machine.
func (l *downloader) isSettled(ctx context.Context) (bool, error) {
	if err := l.failure(); err != nil {
		return false, err
	}
	if !l.isIdle() {
		return false, nil
	}
	next, err := l.s.archive.NextWanted(ctx, l.s.now())
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	paused := l.paused
	l.mu.Unlock()
	if paused != "" {
		return false, errors.New(paused)
	}
	return !l.isAwaited(next), nil
}

// isAwaited reports whether whoever waits for the recordings waits for the one that is due next,
// zero for none: it is due, or at the latest when a block ends.
func (l *downloader) isAwaited(next time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !next.IsZero() && (!next.After(l.s.now()) || !next.After(l.blocked))
}
