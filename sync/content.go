package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
)

const (
	jobAsks = "asks"
	// askers is how many transcripts and summaries of an account are read at a time.
	askers = 8
	// nearby is how far apart meetings may be created to be read with one page.
	nearby = 48 * time.Hour
	// failedAsk is how long an ask waits after a call that failed.
	failedAsk = 10 * time.Minute

	classContent = "content"
)

// answerAsks asks for content of an account when it is due. With once it returns
// when nothing is due any more, otherwise when the context ends or the account
// is parked.
func (s *Syncer) answerAsks(ctx context.Context, a *account, once bool, t *tally) error {
	leave, ok := a.tryEnter(jobAsks)
	if !ok && once {
		return s.othersAnswer(ctx, a)
	}
	if !ok {
		var err error
		if leave, err = a.enter(ctx, jobAsks); err != nil {
			return err
		}
	}
	defer leave()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(askers)
	for gctx.Err() == nil {
		_, due, next, change := s.asks.state(a.Name, s.now())
		batch := s.asks.take(a.Name, s.now(), pageSize)
		if len(batch) == 0 {
			if once && due == 0 {
				break
			}
			waitChange(gctx, change, next, s.now())
			continue
		}
		for _, group := range s.groups(a, batch) {
			g.Go(func() error {
				err := s.answerGroup(gctx, a, group, t)
				for _, one := range group {
					s.asks.release(one.RecordingID)
				}
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("read content of account %s: %w", a.Name, err)
	}
	return ctx.Err()
}

// othersAnswer waits until what is due has been answered by the run that is at
// it already, or that run has ended.
func (s *Syncer) othersAnswer(ctx context.Context, a *account) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, due, _, change := s.asks.state(a.Name, s.now())
		if due == 0 {
			return nil
		}
		if leave, ok := a.tryEnter(jobAsks); ok {
			leave()
			return nil // its caller looks again
		}
		select {
		case <-ctx.Done():
		case <-change:
		case <-tick.C:
		}
		if err := s.usable(ctx, a, false); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// waitChange waits until next, for a change, or until the context ends.
func waitChange(ctx context.Context, change <-chan struct{}, next, now time.Time) {
	var alarm <-chan time.Time
	if wait := next.Sub(now); !next.IsZero() && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-change:
	case <-alarm:
	}
}

// groups puts asks together that one page of the list can answer: those of
// meetings created close together and listed by the same query. OAuth accounts
// have no such pages.
func (s *Syncer) groups(a *account, batch []ask) [][]ask {
	batch = slices.Clone(batch)
	slices.SortStableFunc(batch, func(x, y ask) int { return y.Created.Compare(x.Created) })
	var out [][]ask
	for _, one := range batch {
		last := len(out) - 1
		if !a.OAuth && last >= 0 && together(out[last][0], one) {
			out[last] = append(out[last], one)
			continue
		}
		out = append(out, []ask{one})
	}
	return out
}

func together(x, y ask) bool {
	return x.Pass == y.Pass && x.Created.Sub(y.Created).Abs() < nearby
}

// answerGroup answers asks with a page of the list where one serves, and each of
// the rest by itself. A call that failed for a while postpones the ask; only an
// error that concerns all of the account is returned.
func (s *Syncer) answerGroup(ctx context.Context, a *account, group []ask, t *tally) error {
	if !a.OAuth && (group[0].Tries == 0 || len(group) > 2) {
		if p, ok := a.passNamed(group[0].Pass); ok {
			rest, err := s.answerByList(ctx, a, p, group, t)
			if err != nil {
				return s.postpone(ctx, a, group, err)
			}
			group = rest
		}
	}
	for _, one := range group {
		if err := s.answer(ctx, a, one, t); err != nil {
			if err := s.postpone(ctx, a, []ask{one}, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *account) passNamed(name string) (pass, bool) {
	for _, p := range a.passes {
		if p.Name == name {
			return p, true
		}
	}
	return pass{}, false
}

// answerByList reads the pages that hold the group's meetings, with content, and
// returns the asks that they did not touch.
func (s *Syncer) answerByList(ctx context.Context, a *account, p pass, group []ask, t *tally) ([]ask, error) {
	o := order{account: a, pass: p, content: true}
	newest, oldest := group[0].Created, group[len(group)-1].Created
	w := window{After: oldest, Before: newest}
	for range 2 {
		after, before := w.bounds()
		page, err := a.Client.MeetingsPage(askContext(ctx, group[0]), o.query(after, before), w.Cursor)
		if err != nil {
			return nil, s.judge(ctx, a, err)
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
			batch = append(batch, archive.Observation{Account: a.Name, Source: src, At: c.SentAt,
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
	if a.Urgent {
		return api.WithPriority(ctx, api.PriorityFollowUp)
	}
	return ctx
}
