package syncer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

const (
	slowestPoll = 2 * time.Minute
	// unheard is when a download that will be announced is looked at all the same,
	// at first; then always later, up to slowestLook apart.
	unheard     = time.Minute
	slowestLook = 30 * time.Minute
	callbackTTL = 25 * time.Hour
)

// callbackURL is the address under which the receiver takes a callback.
func callbackURL(public, kind, token string) string {
	return strings.TrimRight(public, "/") + "/callbacks/" + kind + "/" + token
}

// request asks the service for a download, with the credential of an account
// that sees the meeting and has not been refused.
func (l *loader) request(ctx context.Context, t *task) error {
	row := t.row
	a, err := l.requester(ctx, row)
	if err != nil {
		return err
	}
	if a == nil && len(row.RefusedBy) == 0 {
		row.Due, row.Reason = l.s.now().Add(24*time.Hour), "no account that is configured sees the meeting"
		return l.save(ctx, t, row)
	}
	if a == nil {
		row.State, row.Due = archive.DownloadRefused, l.s.now()
		return l.save(ctx, t, row)
	}
	release, err := l.asking.take(ctx, l.s.now())
	if err != nil {
		return err
	}
	d, err := l.post(ctx, a, row.RecordingID)
	release()
	switch {
	case api.IsForbidden(err), api.IsNotFound(err):
		return l.refused(ctx, t, a.Name, err)
	case api.IsNoMedia(err):
		row.State, row.Reason, row.Account = archive.DownloadNone, err.Error(), a.Name
		return l.save(ctx, t, row)
	case err != nil:
		return l.s.judge(ctx, a, err)
	}
	row.Account, row.DownloadID, row.Requests = a.Name, d.DownloadID, row.Requests+1
	row.RequestedAt, row.ExpiresAt, row.State = l.s.now(), time.Time{}, archive.DownloadRequested
	if err := l.save(ctx, t, row); err != nil {
		return err
	}
	return l.settle(ctx, t, d)
}

// post makes the call, after all else that waits: every link that it opens takes
// a read at the highest priority, and would keep the meetings themselves waiting.
// Where the service does not take the callback address, it is asked without, and
// not given one again by this process.
func (l *loader) post(ctx context.Context, a *account, id int64) (*api.Download, error) {
	ctx = api.WithPriority(ctx, api.PriorityLater)
	announced := l.announced(a)
	if announced {
		token, err := l.s.archive.Inbox().NewCallback(ctx, a.Name, id, archive.KindDownload, callbackTTL)
		if err != nil {
			return nil, err
		}
		d, err := a.Client.RequestDownload(ctx, id, callbackURL(l.s.opt.PublicURL, archive.KindDownload, token))
		var refused *api.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
			return d, err
		}
		l.s.log.Warn().Str("account", a.Name).Err(err).Msg("the service does not take the callback address: downloads are polled")
	}
	d, err := a.Client.RequestDownload(ctx, id, "")
	if announced && err == nil {
		a.polled.Store(true)
	}
	return d, err
}

// announced tells whether the downloads of an account are announced to the
// receiver, so that they need not be polled.
func (l *loader) announced(a *account) bool { return l.s.opt.PublicURL != "" && !a.polled.Load() }

// requester chooses whose credential is used: nil when all that see the meeting
// were refused, an error when the others cannot be used now.
func (l *loader) requester(ctx context.Context, row archive.Download) (*account, error) {
	names, err := l.s.archive.SeenBy(ctx, row.RecordingID)
	if err != nil {
		return nil, err
	}
	var parked error
	for _, name := range names {
		a := l.s.account(name)
		if a == nil || slices.Contains(row.RefusedBy, name) {
			continue
		}
		if err := l.s.usable(ctx, a, false); err != nil {
			parked = err
			continue
		}
		return a, nil
	}
	return nil, parked
}

// await polls a download until it is completed or has failed: first when it
// should be done by what was measured, then at growing intervals. A callback
// makes it look at once; where one is to come it hardly polls.
func (l *loader) await(ctx context.Context, t *task) error {
	a := l.s.account(t.row.Account)
	if a == nil {
		return l.lapsed(ctx, t, "its account is not configured any more")
	}
	wait, next := l.pace.firstPoll(), nextPoll
	if l.announced(a) {
		wait, next = max(unheard, 3*l.pace.usual()), nextLook
	}
	for {
		elapsed, err := l.elapsed(ctx, t)
		if err != nil {
			return err
		}
		if elapsed > generationLimit {
			return fmt.Errorf("generate recording: it is still being processed after %v", generationLimit)
		}
		if !l.untilPoll(ctx, t, max(wait-elapsed, min(wait, time.Second))) {
			return ctx.Err()
		}
		d, err := l.look(ctx, a, t)
		if err != nil || d == nil {
			return err
		}
		if err := l.settle(ctx, t, d); err != nil || t.row.State != archive.DownloadRequested {
			return err
		}
		if elapsed, err = l.elapsed(ctx, t); err != nil {
			return err
		}
		wait = elapsed + next(elapsed)
	}
}

// elapsed is how long ago a download was requested. One that a clock which was
// wrong has dated ahead counts from now on.
func (l *loader) elapsed(ctx context.Context, t *task) (time.Duration, error) {
	row, now := t.row, l.s.now()
	if row.RequestedAt.After(now) {
		row.RequestedAt = now
		return 0, l.save(ctx, t, row)
	}
	return now.Sub(row.RequestedAt), nil
}

// nextPoll grows with the time that a download has taken already, from seconds
// to minutes.
func nextPoll(elapsed time.Duration) time.Duration {
	return min(max(elapsed/5, time.Second), slowestPoll)
}

// nextLook is nextPoll for a download that will be announced.
func nextLook(elapsed time.Duration) time.Duration {
	return min(max(elapsed, unheard), slowestLook)
}

// untilPoll waits for the time of the next poll or a callback.
func (l *loader) untilPoll(ctx context.Context, t *task, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.confirm:
		t.heard = true
	case <-timer.C:
		t.heard = false
	}
	return true
}

// look reads a download. One that the service does not know any more is lapsed:
// then both results are nil.
func (l *loader) look(ctx context.Context, a *account, t *task) (*api.Download, error) {
	if err := l.s.usable(ctx, a, false); err != nil {
		return nil, err
	}
	d, err := a.Client.Download(api.WithPriority(ctx, api.PriorityDownload), t.row.RecordingID, t.row.DownloadID)
	if api.IsNotFound(err) {
		return nil, l.lapsed(ctx, t, "the service does not know the download any more")
	}
	return d, l.s.judge(ctx, a, err)
}
