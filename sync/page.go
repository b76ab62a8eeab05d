package syncer

import (
	"context"
	"encoding/json"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// listing is a page of the meetings list, read into observations.
type listing struct {
	*api.Page[json.RawMessage]
	batch      []archive.Observation
	unreadable int // items that are no meetings
}

// asked is when the page was asked for, by the service's clock where that is
// known and not ahead of this one.
func (l *listing) asked() time.Time {
	if l.Date.IsZero() {
		return l.SentAt
	}
	return earlier(l.Date, l.SentAt)
}

// list reads a page of an order's query. It is the one way to the list, so that
// every page carries the number of the walk that had begun when it was asked for.
func (s *Syncer) list(ctx context.Context, o order, after, before time.Time, cursor string) (*listing, error) {
	walk, err := s.archive.LatestWalk(ctx, o.account.Name, o.pass.Name)
	if err != nil {
		return nil, err
	}
	page, err := o.account.Client.MeetingsPage(ctx, o.query(after, before), cursor)
	if err != nil {
		return nil, s.judge(ctx, o.account, err)
	}
	l := &listing{Page: page}
	for _, raw := range page.Items {
		ob, err := archive.FromMeeting(o.account.Name, archive.SourceList, page.SentAt, raw)
		if err != nil {
			l.unreadable++
			if err := s.noteUnreadable(ctx, o, err); err != nil {
				return nil, err
			}
			continue
		}
		ob.Query, ob.Walk, ob.Order = o.pass.Name, walk, page.Order
		dropUnasked(&ob, o)
		l.batch = append(l.batch, ob)
	}
	return l, nil
}

// classList is the ledger's class of items of lists that are no meetings.
const classList = "list"

// take applies a page of a walk: its meetings, the asks that follow from them
// and the marks given, in one transaction.
func (s *Syncer) take(ctx context.Context, o order, page *listing, t *tally, marks ...archive.Mark) error {
	wanted, done, err := s.asksAfter(ctx, o, page.batch, page.SentAt)
	if err != nil {
		return err
	}
	applied, err := s.apply(ctx, page.batch, wanted, done, marks...)
	if err != nil {
		return err
	}
	t.page(len(page.Items), applied.New)
	return nil
}

// apply is the one way into the archive: observations, asks that begin or go on,
// and asks that are done, in one transaction; then the recordings of what is new
// are queued.
func (s *Syncer) apply(ctx context.Context, batch []archive.Observation, wanted []ask, done []int64, marks ...archive.Mark) (archive.Applied, error) {
	for _, a := range wanted {
		marks = append(marks, archive.Mark{Key: askKey(a.RecordingID), Value: a.encode()})
	}
	for _, id := range done {
		marks = append(marks, archive.Mark{Key: askKey(id)})
	}
	applied, err := s.archive.Apply(ctx, batch, marks...)
	if err != nil {
		return applied, err
	}
	s.asks.update(wanted, done)
	if err := s.dropForgottenAsks(ctx, wanted); err != nil {
		return applied, err
	}
	if s.opt.DownloadMedia && len(applied.Changed) > 0 {
		n, err := s.archive.WantDownloads(ctx, applied.Changed...)
		if err != nil {
			return applied, err
		}
		if n > 0 {
			s.loader.ring()
		}
	}
	return applied, nil
}

// dropUnasked removes parts that are null because they were not asked for: that
// says nothing about the meeting.
func dropUnasked(ob *archive.Observation, o order) {
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
func (s *Syncer) asksAfter(ctx context.Context, o order, batch []archive.Observation, sent time.Time) (wanted []ask, done []int64, err error) {
	ids := make([]int64, len(batch))
	for i, ob := range batch {
		ids[i] = ob.RecordingID
	}
	rows, err := s.archive.Rows(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	seen, err := s.archive.Forgotten(ctx, ids) // of which nothing is to be read
	if err != nil {
		return nil, nil, err
	}
	var d decision
	for _, ob := range batch {
		if seen[ob.RecordingID] {
			continue
		}
		seen[ob.RecordingID] = true
		a := newAsk(o, ob, rows[ob.RecordingID], sent)
		if o.content && !o.account.OAuth {
			s.afterFull(&d, a, rows[ob.RecordingID] != nil, sent)
		} else {
			s.afterLight(&d, o, a, rows[ob.RecordingID] != nil)
		}
	}
	return d.wanted, d.done, nil
}

// decision collects the asks that follow from a page.
type decision struct {
	wanted []ask
	done   []int64
}

// afterFull looks at a meeting of a page that carries content: what is missing
// is not there yet and is waited for, unless that was done when the meeting came.
func (s *Syncer) afterFull(d *decision, a ask, known bool, sent time.Time) {
	old, asked := s.asks.get(a.RecordingID)
	if !a.Transcript && !a.Summary {
		if asked {
			d.done = append(d.done, a.RecordingID)
		}
		return
	}
	if asked {
		old.Transcript, old.Summary = a.Transcript, a.Summary
		a = old
	}
	if a.due(sent).After(sent) || (!asked && known && sent.Sub(a.Created) > lateFor) {
		return // it has its time, or has had it
	}
	next, ok := a.late(sent)
	switch {
	case ok:
		d.wanted = append(d.wanted, next)
	case asked:
		d.done = append(d.done, a.RecordingID)
	}
}

// afterLight looks at a meeting of a page without content: that of a new meeting
// is asked for, and that of a known one when it is to be read again.
func (s *Syncer) afterLight(d *decision, o order, a ask, known bool) {
	old, asked := s.asks.get(a.RecordingID)
	switch {
	case asked && s.parkedAccount(old.Account):
		old.Account, old.Pass = o.account.Name, o.pass.Name
		d.wanted = append(d.wanted, old)
	case asked:
	case !known && (a.Transcript || a.Summary):
		d.wanted = append(d.wanted, a)
	case o.again:
		a.Transcript, a.Summary, a.Again, a.Spare = true, true, true, o.spare
		d.wanted = append(d.wanted, a)
	}
}

// newAsk is the ask for what neither the observation nor the archive has of a
// meeting; both flags are false when nothing is missing.
func newAsk(o order, ob archive.Observation, row *archive.Row, sent time.Time) ask {
	created := createdAt(ob.Parts[api.PartMeeting])
	if created.IsZero() {
		created = sent
	}
	return ask{
		RecordingID: ob.RecordingID, Account: o.account.Name, Pass: o.pass.Name,
		Transcript: !api.HasContent(api.PartTranscript, ob.Parts[api.PartTranscript]) && (row == nil || !row.HasTranscript),
		Summary:    !api.HasContent(api.PartSummary, ob.Parts[api.PartSummary]) && (row == nil || !row.HasSummary),
		Created:    created, First: sent, Due: sent,
	}
}

func (s *Syncer) parkedAccount(name string) bool {
	a := s.account(name)
	return a == nil || a.parking() != nil
}

// noteUnreadable keeps what is known of an item that is no meeting.
func (s *Syncer) noteUnreadable(ctx context.Context, o order, err error) error {
	s.log.Warn().Str("account", o.account.Name).Err(err).Msg("item of the meetings list left out")
	return s.archive.RecordFailure(ctx, archive.Failure{
		Account: o.account.Name, Class: classList, What: unreadableItem(o), Reason: err.Error(),
	})
}

func unreadableItem(o order) string { return "an item of " + passName(o.pass) }
