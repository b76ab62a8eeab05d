package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// answerByList reads the pages that hold the group's meetings, with content, and
// returns the asks that they did not touch.
func (s *Syncer) answerByList(ctx context.Context, a *account, p pass, group []ask, t *tally) ([]ask, error) {
	o := order{account: a, pass: p, content: true}
	newest, oldest := group[0].Created, group[len(group)-1].Created
	w := window{After: oldest, Before: newest}
	for range 2 {
		after, before := w.bounds()
		page, err := s.list(askContext(ctx, group[0]), o, after, before, w.Cursor)
		if err != nil {
			return nil, err
		}
		if err := s.take(ctx, o, page, t); err != nil {
			return nil, err
		}
		group = slices.DeleteFunc(slices.Clone(group), func(old ask) bool {
			now, ok := s.asks.get(old.RecordingID)
			return !ok || now.Tries != old.Tries
		})
		if w, err = w.advance(page.NextCursor); err != nil || w.Done || len(group) < 2 {
			break
		}
	}
	return group, nil
}

// answer asks for one meeting's missing content.
func (s *Syncer) answer(ctx context.Context, a *account, one ask, t *tally) error {
	ctx = askContext(ctx, one)
	var batch []archive.Observation
	now := s.now()
	read := func(missing *bool, part api.Part, src archive.Source, call func(context.Context, int64) (*api.Content, error)) error {
		if !*missing {
			return nil
		}
		c, err := call(ctx, one.RecordingID)
		if err != nil {
			return s.judge(ctx, a, err)
		}
		t.content()
		if c.Raw != nil {
			*missing = false
			batch = append(batch, archive.Observation{Account: a.Name, Source: src, At: c.SentAt, Order: c.Order,
				RecordingID: one.RecordingID, Parts: map[api.Part]json.RawMessage{part: c.Raw}})
		}
		return nil
	}
	left := one
	err := errors.Join(
		read(&left.Transcript, api.PartTranscript, archive.SourceTranscript, a.Client.Transcript),
		read(&left.Summary, api.PartSummary, archive.SourceSummary, a.Client.Summary),
	)
	return s.answered(ctx, a, left, batch, now, err)
}

// answered keeps what came of an ask. Content that is not there yet is no
// failure; content that may not be read is noted and not asked for again.
func (s *Syncer) answered(ctx context.Context, a *account, left ask, batch []archive.Observation, now time.Time, failed error) error {
	var wanted []ask
	done := []int64{left.RecordingID}
	forbidden := api.IsForbidden(failed)
	switch {
	case failed != nil && !forbidden:
		wanted, done = []ask{left}, nil
	case !forbidden && (left.Transcript || left.Summary):
		if next, ok := left.late(now); ok {
			wanted, done = []ask{next}, nil
		}
	}
	if _, err := s.apply(ctx, batch, wanted, done); err != nil {
		return err
	}
	what := strconv.FormatInt(left.RecordingID, 10)
	switch {
	case forbidden:
		return s.archive.RecordFailure(ctx, archive.Failure{Account: a.Name, Class: classContent, What: what,
			RecordingID: left.RecordingID, Reason: failed.Error()})
	case failed == nil:
		return s.archive.ResolveFailure(ctx, a.Name, classContent, what)
	}
	return failed
}

// postpone puts asks off after a failed call and notes it; it returns the error
// when the account or the run cannot go on.
func (s *Syncer) postpone(ctx context.Context, a *account, group []ask, failed error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(failed, errParked) {
		return failed
	}
	var wanted []ask
	for _, one := range group {
		if current, ok := s.asks.get(one.RecordingID); ok {
			wanted = append(wanted, current.postponed(s.now(), failedAsk))
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if _, err := s.apply(ctx, nil, wanted, nil); err != nil {
		return err
	}
	return s.archive.RecordFailure(ctx, archive.Failure{Account: a.Name, Class: classContent,
		What: strconv.FormatInt(wanted[0].RecordingID, 10), RecordingID: wanted[0].RecordingID,
		Reason: failed.Error(), NextTry: wanted[0].Due})
}

// askContext gives a call the priority of its ask.
func askContext(ctx context.Context, a ask) context.Context {
	switch {
	case a.Urgent:
		return api.WithPriority(ctx, api.PriorityFollowUp)
	case a.spare():
		return api.WithPriority(ctx, api.PriorityLater)
	}
	return ctx
}
