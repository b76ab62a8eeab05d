package syncer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/inbox"
)

const (
	// slowestPoll is far apart: the many downloads that a service may never finish generating would
	// take the minute's calls.
	slowestPoll = 10 * time.Minute
	// announcementWait is how long a callback is awaited before the first poll. The
	// polls that follow are ever further apart, up to slowestAnnouncedPoll.
	announcementWait     = time.Minute
	slowestAnnouncedPoll = 30 * time.Minute
	callbackTTL          = 25 * time.Hour
	// longestBlock is how long a call for a recording waits for the account's limit, or while the
	// service refuses the account's calls, before its place is another recording's.
	longestBlock = time.Minute
)

// callbackURL returns the address at which the receiver takes a callback.
func callbackURL(public, kind, token string) string {
	return strings.TrimRight(public, "/") + "/callbacks/" + kind + "/" + token
}

// request asks the service for a download, for an account that sees the meeting
// and was not refused.
func (l *downloader) request(ctx context.Context, t *downloadTask) error {
	row := t.row
	asked, err := l.s.archive.Written(ctx)
	if err != nil {
		return err
	}
	saved, err := l.s.archive.DownloadOf(ctx, row.RecordingID)
	if err != nil {
		return err
	}
	row.RefusedBy, row.ForbiddenTo = saved.RefusedBy, saved.ForbiddenTo // they may have changed since
	a, due, err := l.chooseRequester(ctx, row)
	if err != nil {
		return err
	}
	if !due.IsZero() {
		return l.postponeRow(ctx, t, row, due)
	}
	if a == nil {
		if slices.ContainsFunc(row.RefusedBy, func(name string) bool { return !slices.Contains(row.ForbiddenTo, name) }) {
			// Some account was shown no such recording: it may not exist yet.
			if due, _, err := l.nextRequest(ctx, row.RecordingID); err != nil {
				return err
			} else if !due.IsZero() {
				if err := l.s.archive.EndUnfound(context.WithoutCancel(ctx), row.RecordingID); err != nil {
					return err
				}
				return l.postponeRow(ctx, t, row, due)
			}
		}
		if len(row.RefusedBy) == 0 {
			row.Reason = "no configured account sees the meeting"
		}
		row.State, row.Account = archive.DownloadRefused, ""
		return l.closeRow(ctx, t, row)
	}
	if row.Account != a.Name {
		if err := l.resolveFailures(ctx, row); err != nil {
			return err
		}
	}
	row.Account = a.Name
	l.setRow(t, row) // a failure of the request names it
	d, err := l.postRequest(ctx, a, t)
	err = l.s.classifyRefusal(ctx, a, err)
	switch {
	case errors.Is(err, errSuspended):
		return err
	case errors.Is(err, api.ErrLongWait):
		return l.postponeRefused(ctx, t, row)
	case api.IsForbidden(err), api.IsNotFound(err):
		return l.markRefused(ctx, t, a.Name, asked, err)
	case api.IsNoMedia(err):
		row.State, row.Reason = archive.DownloadNone, err.Error()
		due, isGone, err := l.nextRequest(ctx, row.RecordingID)
		switch {
		case err != nil:
			return err
		case !due.IsZero():
			return l.postponeRow(ctx, t, row, due)
		case isGone: // it may come back, and is asked for again then
			row.State = archive.DownloadRefused
		}
		return l.closeRow(ctx, t, row)
	case err != nil:
		return err
	}
	row.DownloadID, row.Requests = d.DownloadID, row.Requests+1
	row.RequestedAt, row.ExpiresAt, row.State = l.s.now(), time.Time{}, archive.DownloadRequested
	if err := l.saveRow(ctx, t, row); err != nil {
		return err
	}
	return l.applyStatus(ctx, t, d)
}

// postponeRefused puts a recording back into the queue after the service made its account wait.
// Another account that sees the meeting is asked at once, the same one after longestBlock.
func (l *downloader) postponeRefused(ctx context.Context, t *downloadTask, row archive.Download) error {
	a, due, err := l.chooseRequester(ctx, row)
	switch {
	case err != nil:
		return err
	case a != nil && a.Name != row.Account:
		due = l.s.now()
	case due.IsZero():
		due = l.s.now().Add(longestBlock)
	}
	return l.postponeRow(ctx, t, row, due)
}

// postRequest sends the request at the lowest priority: each link that it opens
// is followed by a read at the highest one, and would keep the meetings
// waiting. If the service refuses the callback address, it is asked without
// one, now and until the process ends. An answer 422 may mean the address, as long as the
// service has taken none, or that there is no media.
func (l *downloader) postRequest(ctx context.Context, a *account, t *downloadTask) (*api.Download, error) {
	defer l.noteCall(t)()
	id := t.row.RecordingID
	release, err := a.requestSlots.acquire(ctx, l.s.now())
	if err != nil {
		return nil, err
	}
	defer release()
	ctx = api.WithLongestWait(api.WithPriority(ctx, api.PriorityLater), longestBlock)
	var refused error
	if l.isAnnounced(a) {
		token, err := l.s.archive.Inbox().NewCallback(ctx, a.Name, id, inbox.KindDownload, callbackTTL)
		if err != nil {
			return nil, err
		}
		d, err := a.Client.RequestDownload(ctx, id, callbackURL(l.s.opt.PublicURL, inbox.KindDownload, token))
		if err == nil {
			a.takesAddress.Store(true)
		}
		var answer *api.Error
		if !errors.As(err, &answer) || answer.Status != http.StatusBadRequest && (!api.IsNoMedia(err) || a.takesAddress.Load()) {
			return d, err
		}
		refused = err
	}
	d, err := a.Client.RequestDownload(ctx, id, "")
	if refused != nil && err == nil {
		a.mustPoll.Store(true)
		l.s.log.Warn().Str("account", a.Name).Err(refused).Msg("the service does not take the callback address: downloads are polled")
	}
	return d, err
}

// isAnnounced reports whether callbacks announce the account's downloads, so
// that they need little polling.
func (l *downloader) isAnnounced(a *account) bool {
	return l.s.opt.PublicURL != "" && !a.mustPoll.Load()
}

// chooseRequester returns an account that sees the meeting, was not refused and may be used, after
// each failure the next one: the service may never give the recording to one of them. It returns nil
// if all were refused, a time to ask again if the service refuses all calls of the others until
// then, and an error if these are suspended.
func (l *downloader) chooseRequester(ctx context.Context, row archive.Download) (a *account, due time.Time, err error) {
	names, err := l.s.archive.SeenBy(ctx, row.RecordingID)
	if err != nil {
		return nil, time.Time{}, err
	}
	var usable []*account
	var suspended error
	for _, name := range names {
		a := l.s.account(name)
		if a == nil || slices.Contains(row.RefusedBy, name) {
			continue
		}
		if err := l.s.checkUsable(ctx, a, false); err != nil {
			suspended = err
			continue
		}
		until, err := l.blockedUntil(ctx, a)
		switch {
		case err != nil:
			return nil, time.Time{}, err
		case until.IsZero():
			usable = append(usable, a)
		case due.IsZero() || until.Before(due):
			due = until
		}
	}
	busy := l.busyAccounts()
	if free := slices.DeleteFunc(slices.Clone(usable), func(a *account) bool { return slices.Contains(busy, a.Name) }); len(free) > 0 {
		usable = free
	}
	if len(usable) > 0 {
		return usable[row.Failures%len(usable)], time.Time{}, nil
	}
	if due.IsZero() {
		return nil, time.Time{}, suspended
	}
	if latest := l.s.now().Add(suspensionRetry); due.After(latest) { // a person may resume the account meanwhile
		due = latest
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blocked.Before(due) {
		l.blocked = due
	}
	return nil, due, nil
}

// blockedUntil returns the time before which the service refuses the account's calls, zero if that
// is no longer than longestBlock away.
func (l *downloader) blockedUntil(ctx context.Context, a *account) (until time.Time, err error) {
	used, err := a.Client.Usage(ctx)
	for _, u := range used {
		if u.Blocked.After(until) {
			until = u.Blocked
		}
	}
	if until.Sub(l.s.now()) <= longestBlock {
		return time.Time{}, err
	}
	return until, err
}
