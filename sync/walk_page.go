package syncer

import (
	"context"
	"encoding/json"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// listing is a page of the meetings list, read into observations.
type meetingsPage struct {
	*api.Page[json.RawMessage]
	batch      []archive.Observation
	unreadable int // items that are no meetings
}

// asked is when the page was asked for, by the service's clock where that is
// known and not ahead of this one.
func (l *meetingsPage) askedAt() time.Time {
	if l.Date.IsZero() {
		return l.SentAt
	}
	return earlier(l.Date, l.SentAt)
}

// list reads a page of an order's query. It is the one way to the list, so that
// every page carries the number of the walk that had begun when it was asked for.
func (s *Syncer) fetchPage(ctx context.Context, o walkSpec, after, before time.Time, cursor string) (*meetingsPage, error) {
	walk, err := s.archive.LatestWalk(ctx, o.account.Name, o.list.Name)
	if err != nil {
		return nil, err
	}
	page, err := o.account.Client.MeetingsPage(ctx, o.apiQuery(after, before), cursor)
	if err != nil {
		return nil, s.classify(ctx, o.account, err)
	}
	l := &meetingsPage{Page: page}
	for _, raw := range page.Items {
		ob, err := archive.FromMeeting(o.account.Name, archive.SourceList, page.SentAt, raw)
		if err != nil {
			l.unreadable++
			if err := s.recordUnreadable(ctx, o, err); err != nil {
				return nil, err
			}
			continue
		}
		ob.Query, ob.Walk, ob.Order = o.list.Name, walk, page.Order
		dropUnrequestedParts(&ob, o)
		l.batch = append(l.batch, ob)
	}
	return l, nil
}

// classList is the ledger's class of items of lists that are no meetings.
const classList = "list"

// take applies a page of a walk: its meetings, the asks that follow from them
// and the marks given, in one transaction.
func (s *Syncer) applyPage(ctx context.Context, o walkSpec, page *meetingsPage, t *runStats, marks ...archive.Mark) error {
	wanted, done, err := s.planTasks(ctx, o, page.batch, page.SentAt)
	if err != nil {
		return err
	}
	applied, err := s.apply(ctx, page.batch, wanted, done, marks...)
	if err != nil {
		return err
	}
	t.countPage(len(page.Items), applied.New)
	return nil
}

// apply is the one way into the archive: observations, asks that begin or go on,
// and asks that are done, in one transaction; then the recordings of what is new
// are queued.
func (s *Syncer) apply(ctx context.Context, batch []archive.Observation, wanted []contentTask, done []int64, marks ...archive.Mark) (archive.Applied, error) {
	for _, a := range wanted {
		marks = append(marks, archive.Mark{Key: taskKey(a.RecordingID), Value: a.encode()})
	}
	for _, id := range done {
		marks = append(marks, archive.Mark{Key: taskKey(id)})
	}
	applied, err := s.archive.Apply(ctx, batch, marks...)
	if err != nil {
		return applied, err
	}
	s.content.update(wanted, done)
	if err := s.dropForgottenTasks(ctx, wanted); err != nil {
		return applied, err
	}
	if s.opt.DownloadMedia && len(applied.Changed) > 0 {
		n, err := s.archive.WantDownloads(ctx, applied.Changed...)
		if err != nil {
			return applied, err
		}
		if n > 0 {
			s.downloads.wake()
		}
	}
	return applied, nil
}

// dropUnasked removes parts that are null because they were not asked for: that
// says nothing about the meeting.
func dropUnrequestedParts(ob *archive.Observation, o walkSpec) {
	if o.content && !o.account.OAuth {
		return
	}
	for _, p := range []api.Part{api.PartTranscript, api.PartSummary} {
		if api.Empty(ob.Parts[p]) {
			delete(ob.Parts, p)
		}
	}
}

// asksAfter decides what is to be asked for after a page: content that a light
// page does not carry, for meetings that are new or read again, and content that
// a full page should have carried but which was not there yet. done are asks
// that the page has answered.
// decision collects the asks that follow from a page.
// afterFull looks at a meeting of a page that carries content: what is missing
// is not there yet and is waited for, unless that was done when the meeting came.
// afterLight looks at a meeting of a page without content: that of a new meeting
// is asked for, and that of a known one when it is to be read again.
// newAsk is the ask for what neither the observation nor the archive has of a
// meeting; both flags are false when nothing is missing.
// noteUnreadable keeps what is known of an item that is no meeting.
func (s *Syncer) recordUnreadable(ctx context.Context, o walkSpec, err error) error {
	s.log.Warn().Str("account", o.account.Name).Err(err).Msg("item of the meetings list left out")
	return s.archive.RecordFailure(ctx, archive.Failure{
		Account: o.account.Name, Class: classList, What: unreadableKey(o), Reason: err.Error(),
	})
}

func unreadableKey(o walkSpec) string { return "an item of " + describeList(o.list) }
