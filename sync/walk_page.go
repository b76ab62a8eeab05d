package syncer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// meetingsPage is a page of the meetings list, read into observations.
type meetingsPage struct {
	*api.Page[json.RawMessage]
	spec       walkSpec // by which the page was read
	batch      []archive.Observation
	unreadable int     // items that are no meetings
	listed     []int64 // an id for each item: the recording's, or one of its bytes' hash
}

// askedAt returns when the page was requested, by the service's clock if that
// is known and not ahead of this one.
func (l *meetingsPage) askedAt() time.Time {
	if l.Date.IsZero() {
		return l.SentAt
	}
	return earlier(l.Date, l.SentAt)
}

// fetchPage reads a page of a walk's list, without content where the page with content fails: one
// meeting may break it, and a service may refuse content in lists to a key as to apps. All lists whose
// meetings are stored are read by it, so that each page carries the number of the latest walk that
// had begun when it was requested.
func (s *Syncer) fetchPage(ctx context.Context, o walkSpec, after, before time.Time, cursor string) (*meetingsPage, error) {
	walk, err := s.archive.LatestWalk(ctx, o.account.Name, o.list.Name)
	if err != nil {
		return nil, err
	}
	page, err := o.account.Client.MeetingsPage(ctx, o.apiQuery(after, before), cursor)
	if err != nil {
		err = s.classifyRefusal(ctx, o.account, err)
		if !o.isInline() || !mayAskForLess(err) {
			return nil, err
		}
		s.log.Info().Str("account", o.account.Name).Err(err).Msg("a page with content fails: it is read without")
		if o.content = false; !api.IsRefused(err) {
			ctx = api.WithoutRepetition(ctx) // all of the service may fail
		}
		page, failed := s.fetchPage(ctx, o, after, before, cursor)
		if api.IsCursorRefused(failed) && !api.IsCursorRefused(err) { // which may be of queries with content alone
			return nil, err
		}
		return page, failed
	}
	at := page.SentAt
	if !page.Date.IsZero() {
		at = page.Date.Add(page.SentAt.Sub(page.AnsweredAt)) // by the clock that stamps the meetings
		s.archive.NoteServiceTime(page.Date)
		s.clock.Store(&ClockStatus{At: page.AnsweredAt, AheadSeconds: page.AnsweredAt.Sub(page.Date).Seconds()})
	}
	if err := s.archive.NoteListRead(ctx, o.account.Name, o.list.Name, at); err != nil {
		return nil, err
	}
	l := &meetingsPage{Page: page, spec: o}
	var bad error // of the first unreadable item: a page may have very many
	for _, raw := range page.Items {
		ob, err := archive.FromMeeting(o.account.Name, archive.SourceList, page.SentAt, raw)
		if err != nil {
			l.unreadable++
			l.listed = append(l.listed, -1-int64(crc32.ChecksumIEEE(raw)))
			bad = cmp.Or(bad, err)
			continue
		}
		ob.Query, ob.Walk, ob.Order = o.list.Name, walk, page.Order
		dropUnrequestedParts(&ob, o)
		l.batch, l.listed = append(l.batch, ob), append(l.listed, ob.RecordingID)
	}
	if bad != nil {
		if l.unreadable > 1 {
			bad = fmt.Errorf("%w; so are %d more of this page", bad, l.unreadable-1)
		}
		if err := s.recordUnreadable(ctx, o, bad); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// mayAskForLess reports whether a call that asks for less may succeed where one failed with err: the
// service accepts the account, and neither its limits nor this machine ended the call.
func mayAskForLess(err error) bool {
	if errors.Is(err, errSuspended) || errors.Is(err, errLeft) {
		return false
	}
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		return refusal.Status >= 400 && refusal.Status != http.StatusTooManyRequests
	}
	return api.IsTemporary(err) || api.IsUnusable(err)
}

// classList is the class of failures for unreadable items of lists.
const classList = "list"

// applyPage applies a page, the content tasks that follow from it and a mark, in one
// transaction. An item that the archive can never take is left out and counts as
// unreadable, so that it does not keep the list from being read; mark is then asked again.
func (s *Syncer) applyPage(ctx context.Context, page *meetingsPage, t *runStats, mark func() archive.Mark) error {
	for {
		err := s.tryPage(ctx, page, t, mark())
		var bad *archive.ObservationError
		if !errors.As(err, &bad) || !page.leaveOut(bad.RecordingID) {
			return err
		}
		if err := s.recordUnreadable(ctx, page.spec, err); err != nil {
			return err
		}
	}
}

// leaveOut removes a meeting from the page and reports whether it was there.
func (l *meetingsPage) leaveOut(id int64) bool {
	before := len(l.batch)
	l.batch = slices.DeleteFunc(l.batch, func(o archive.Observation) bool { return o.RecordingID == id })
	l.unreadable += before - len(l.batch)
	return len(l.batch) < before
}

// tryPage is applyPage for a page with nothing to leave out.
func (s *Syncer) tryPage(ctx context.Context, page *meetingsPage, t *runStats, mark archive.Mark) error {
	wanted, done, fulfilled, err := s.planTasks(ctx, page.spec, page.batch)
	if err != nil {
		return err
	}
	var marks []archive.Mark
	if mark.Key != "" {
		marks = append(marks, mark)
	}
	applied, err := s.apply(ctx, page.batch, wanted, done, marks...)
	if err != nil {
		return err
	}
	if err := s.renewTasks(ctx, applied.Changed); err != nil {
		return err
	}
	t.countPage(len(page.Items), applied.New)
	if len(fulfilled) == 0 {
		return nil
	}
	return s.archive.ResolveFailure(ctx, "", classContent, fulfilled...)
}

// apply is the only way into the archive: observations, new and changed tasks,
// finished tasks and marks, in one transaction. Then it queues the recordings
// of changed meetings.
func (s *Syncer) apply(ctx context.Context, batch []archive.Observation, wanted []contentTask, done []int64, marks ...archive.Mark) (archive.Applied, error) {
	for _, a := range wanted {
		marks = append(marks, newMark(taskKey(a.RecordingID), a))
	}
	for _, id := range done {
		marks = append(marks, archive.Mark{Key: taskKey(id)})
	}
	applied, err := s.archive.Apply(ctx, batch, marks...)
	if err != nil {
		return applied, err
	}
	s.content.update(wanted, done)
	if s.opt.DownloadMedia && len(applied.Changed) > 0 {
		n, err := s.archive.WantDownloads(ctx, applied.Changed...)
		if err != nil {
			s.downloads.isBehind.Store(true) // whoever applies the same again changes nothing
			s.downloads.wake()
			return applied, err
		}
		if n > 0 {
			s.downloads.wakeForChange()
		}
	}
	return applied, nil
}

// dropUnrequestedParts removes parts that have no content because the page was
// requested without them.
func dropUnrequestedParts(ob *archive.Observation, o walkSpec) {
	if o.isInline() {
		return
	}
	for _, p := range []api.Part{api.PartTranscript, api.PartSummary} {
		if !api.HasContent(p, ob.Parts[p]) {
			delete(ob.Parts, p)
		}
	}
}

// recordUnreadable records and logs an item that is no meeting, or one that cannot be kept: the
// error names the meeting, so that the failure is told to those who see it.
func (s *Syncer) recordUnreadable(ctx context.Context, o walkSpec, err error) error {
	s.log.Warn().Str("account", o.account.Name).Err(err).Msg("item of the meetings list left out")
	failure := archive.Failure{Account: o.account.Name, Class: classList, What: unreadableKey(o), Reason: err.Error()}
	if bad, ok := errors.AsType[*archive.ObservationError](err); ok {
		failure.RecordingID = bad.RecordingID
	}
	return s.archive.RecordFailure(ctx, failure)
}

// unreadableKey names the unreadable items of a list in the failure ledger.
func unreadableKey(o walkSpec) string { return "an item of " + describeList(o.list) }
