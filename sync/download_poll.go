package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// awaitGeneration polls a download until it is completed or has failed: first
// at its usual time, then at growing intervals. A callback makes it poll at
// once; where a callback is expected, it polls seldom.
func (l *downloader) awaitGeneration(ctx context.Context, t *downloadTask) error {
	wait, next := l.pace.firstPollDelay(), pollDelay
	if a := l.s.account(t.row.Account); a != nil && l.isAnnounced(a) {
		wait, next = l.pace.announcedPollDelay(), announcedPollDelay
	}
	isNamed := false
	began := time.Now() // by the process's own clock, which nobody sets
	for {
		elapsed, err := l.sinceRequest(ctx, t)
		if err != nil {
			return err
		}
		if !l.waitForPoll(ctx, t, max(wait-elapsed, min(wait, time.Second))) {
			return ctx.Err()
		}
		a := l.s.account(t.row.Account) // its key may be another one since
		if a == nil {
			return l.releaseAccount(ctx, t)
		}
		d, err := l.poll(ctx, a, t)
		if err != nil || t.row.State != archive.DownloadRequested {
			return err
		}
		if d == nil {
			continue
		}
		if err := l.applyStatus(ctx, t, d); err != nil || t.row.State != archive.DownloadRequested {
			return err
		}
		if elapsed, err = l.sinceRequest(ctx, t); err != nil {
			return err
		}
		switch {
		case elapsed <= generationLimit:
		case time.Since(began) > generationLimit/2:
			return fmt.Errorf("generate recording: %w after %v", errUnfinished, generationLimit)
		default: // nobody may have asked for that long, and a clock that was behind may have dated the request
			if elapsed, err = 0, l.countFromNow(ctx, t); err != nil {
				return err
			}
		}
		if !isNamed && elapsed > l.pace.patience() { // status names it, and it goes on
			reason := "generate recording: the service has not finished it since " + t.row.RequestedAt.UTC().Format(time.RFC3339)
			if err := l.recordFailure(ctx, t.row, reason, time.Time{}); err != nil {
				return err
			}
			isNamed = true
		}
		wait = elapsed + next(elapsed)
	}
}

// errUnfinished ends a download that the service has been generating for generationLimit.
var errUnfinished = errors.New("it is still being processed")

// sinceRequest returns how long ago a download was requested. If a wrong clock
// dated the request in the future, it counts from now.
func (l *downloader) sinceRequest(ctx context.Context, t *downloadTask) (time.Duration, error) {
	if elapsed := l.s.now().Sub(t.row.RequestedAt); elapsed >= 0 {
		return elapsed, nil
	}
	return 0, l.countFromNow(ctx, t)
}

// countFromNow has a download count as requested now.
func (l *downloader) countFromNow(ctx context.Context, t *downloadTask) error {
	row := t.row
	row.RequestedAt = l.s.now()
	return l.saveRow(ctx, t, row)
}

// pollDelay grows with the time since the request, from seconds to minutes.
func pollDelay(elapsed time.Duration) time.Duration {
	return min(max(elapsed/5, time.Second), slowestPoll)
}

// announcedPollDelay is pollDelay for a download that a callback will announce.
func announcedPollDelay(elapsed time.Duration) time.Duration {
	return min(max(elapsed, announcementWait), slowestAnnouncedPoll)
}

// waitForPoll waits for the time of the next poll or a callback. It returns
// false when ctx ended.
func (l *downloader) waitForPoll(ctx context.Context, t *downloadTask, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.announced:
		t.wasAnnounced = true
	case <-timer.C:
		t.wasAnnounced = false
	}
	return true
}

// poll reads a download. If the service no longer knows it, or refuses the account's calls while
// another account sees the meeting, the recording goes back to the queue and both results are nil.
func (l *downloader) poll(ctx context.Context, a *account, t *downloadTask) (*api.Download, error) {
	if err := l.s.checkUsable(ctx, a, false); err != nil {
		return nil, err
	}
	defer l.noteCall(t)()
	d, err := a.Client.Download(api.WithLongestWait(api.WithPriority(ctx, api.PriorityDownload), longestBlock), t.row.RecordingID, t.row.DownloadID)
	err = l.s.classifyRefusal(ctx, a, err)
	switch {
	case errors.Is(err, api.ErrLongWait):
		return nil, l.passOn(ctx, t)
	case api.IsNotFound(err) && !errors.Is(err, errSuspended):
		return nil, l.requeueLapsed(ctx, t, "the service does not know the download any more")
	}
	return d, err
}

// passOn puts a recording whose account's calls the service refuses back into the queue, where
// another account may be asked for it. Otherwise it waits for a while.
func (l *downloader) passOn(ctx context.Context, t *downloadTask) error {
	a, _, err := l.chooseRequester(ctx, t.row)
	switch {
	case errors.Is(err, errSuspended), err == nil && (a == nil || a.Name == t.row.Account):
		l.waitForPoll(ctx, t, longestBlock)
		return ctx.Err()
	case err != nil:
		return err
	}
	row := t.row
	row.ExpiresAt, t.url = time.Time{}, ""
	return l.postponeRow(ctx, t, row, l.s.now())
}
