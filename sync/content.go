package syncer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
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
	for _, spare := range []bool{false, true} {
		g.Go(func() error {
			return s.guard("content of "+a.Name, func() error { return s.answerLane(gctx, a, spare, once, t) })
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("read content of account %s: %w", a.Name, err)
	}
	return ctx.Err()
}

// answerLane answers the asks of an account that come after everything else, or
// all others: those must not wait for an asker that waits for spare calls. With
// once both lanes end together, when nothing is due in either.
func (s *Syncer) answerLane(ctx context.Context, a *account, spare, once bool, t *tally) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(askers)
	for gctx.Err() == nil {
		_, due, _, change := s.asks.state(a.Name, s.now())
		batch := s.asks.take(a.Name, spare, s.now(), pageSize)
		if len(batch) == 0 {
			if once && due == 0 {
				break
			}
			waitChange(gctx, change, s.asks.next(a.Name, spare, s.now()), s.now())
			continue
		}
		for _, group := range s.groups(a, batch) {
			g.Go(func() error {
				err := s.guard("content of "+a.Name, func() error { return s.answerGroup(gctx, a, group, t) })
				if isPanic(err) { // the others go on
					err = s.postpone(gctx, a, group, err)
				}
				for _, one := range group {
					s.asks.release(one.RecordingID)
				}
				return err
			})
		}
	}
	return g.Wait()
}

// othersAnswer waits until what is due has been answered by the run that is at
// it already, or that run has ended. It does not wait for what takes spare calls:
// whoever it waits for has all the time for that.
func (s *Syncer) othersAnswer(ctx context.Context, a *account) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		due, change := s.asks.pressing(a.Name, s.now())
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
	group, err := s.dropForgotten(ctx, group)
	if err != nil || len(group) == 0 {
		return err
	}
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

// dropForgotten ends the asks for meetings that were forgotten meanwhile.
func (s *Syncer) dropForgotten(ctx context.Context, group []ask) ([]ask, error) {
	var ids []int64
	for _, one := range group {
		ids = append(ids, one.RecordingID)
	}
	forgotten, err := s.archive.Forgotten(ctx, ids)
	if err != nil || len(forgotten) == 0 {
		return group, err
	}
	_, err = s.apply(ctx, nil, nil, slices.Collect(maps.Keys(forgotten)))
	return slices.DeleteFunc(slices.Clone(group), func(one ask) bool { return forgotten[one.RecordingID] }), err
}

func (a *account) passNamed(name string) (pass, bool) {
	for _, p := range a.passes {
		if p.Name == name {
			return p, true
		}
	}
	return pass{}, false
}
