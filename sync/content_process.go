package syncer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/internal/guard"
)

const (
	jobContent = "asks"
	// contentWorkers limits the calls for content that each of an account's two lanes makes
	// at a time.
	contentWorkers = 8
	// onePageSpan is how far apart meetings may be created to be read with one page.
	onePageSpan = 48 * time.Hour
	// failedTaskDelay is how long a task waits at least after a failed call.
	failedTaskDelay = 10 * time.Minute
	// maxRereads is how often a second reading may fail.
	maxRereads = 6

	classContent = "content"
)

// processTasks reads the content that is due for an account. With once it
// returns when nothing is due, otherwise when ctx ends or the account is
// suspended.
func (s *Syncer) processTasks(ctx context.Context, a *account, once bool, t *runStats) error {
	leave, err := a.enterJob(ctx, jobContent, !once)
	if leave == nil && err == nil {
		return s.awaitOtherRun(ctx, a)
	}
	if err != nil {
		return err
	}
	defer leave()
	g, gctx := errgroup.WithContext(ctx)
	for _, isSpare := range []bool{false, true} {
		g.Go(func() error {
			return guard.Run(s.log, "content of "+a.Name, func() error { return s.processLane(gctx, a, isSpare, once, t) })
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("read content of account %s: %w", a.Name, err)
	}
	return ctx.Err()
}

// processLane works on one of the account's two lanes: the spare tasks, or all
// others, which must not wait behind spare ones. With once both lanes end
// together, when nothing is due in either.
func (s *Syncer) processLane(ctx context.Context, a *account, isSpare, once bool, t *runStats) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(contentWorkers)
	for gctx.Err() == nil {
		_, due, _, change := s.content.status(a.Name, s.now())
		batch := s.content.takeDue(a.Name, isSpare, s.now(), pageSize)
		if len(batch) == 0 {
			if once && due == 0 {
				break
			}
			waitForChange(gctx, change, s.content.nextDue(a.Name, isSpare, s.now()), s.now())
			continue
		}
		for _, group := range s.groupTasks(a, batch) {
			g.Go(func() error {
				err := guard.Run(s.log, "content of "+a.Name, func() error { return s.processGroup(gctx, a, group, t) })
				if errors.Is(err, guard.ErrPanic) { // the other groups go on
					err = s.postponeTasks(gctx, a, group, err)
				}
				for _, task := range group {
					s.content.release(task.RecordingID)
				}
				return err
			})
		}
	}
	return g.Wait()
}

// awaitOtherRun waits while another run works on the account's tasks, until no
// regular task is due or that run ends. Spare tasks are not waited for.
func (s *Syncer) awaitOtherRun(ctx context.Context, a *account) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		due, change := s.content.countRegular(a.Name, s.now())
		if due == 0 {
			return nil
		}
		if leave, ok := a.tryAcquireJob(jobContent); ok {
			leave()
			return nil // the caller looks again
		}
		select {
		case <-ctx.Done():
		case <-change:
		case <-tick.C:
		}
		if err := s.checkUsable(ctx, a, false); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// groupTasks puts tasks together that one page of a list can fulfil: the same
// list query, and meetings created close to each other. Lists show no content
// to OAuth accounts, so their tasks stay alone.
func (s *Syncer) groupTasks(a *account, batch []contentTask) [][]contentTask {
	batch = slices.Clone(batch)
	slices.SortStableFunc(batch, func(x, y contentTask) int { return y.Created.Compare(x.Created) })
	var out [][]contentTask
	for _, task := range batch {
		last := len(out) - 1
		if !a.OAuth && last >= 0 && fitOnePage(out[last][0], task) {
			out[last] = append(out[last], task)
			continue
		}
		out = append(out, []contentTask{task})
	}
	return out
}

// fitOnePage reports whether one page may hold the meetings of both tasks.
func fitOnePage(x, y contentTask) bool {
	return x.List == y.List && x.Reread == y.Reread && x.Created.Sub(y.Created).Abs() < onePageSpan
}

// processGroup fulfils tasks with a page of a list where that is worth it, and the others one by
// one, also those whose content lists lack or for which the list fails. A failed call postpones its
// tasks. Only an error that concerns the whole account is returned.
func (s *Syncer) processGroup(ctx context.Context, a *account, group []contentTask, t *runStats) error {
	group, err := s.skipForgotten(ctx, group)
	if err != nil || len(group) == 0 {
		return err
	}
	isDoubtful := false // the list failed, and all of the content may
	if !a.OAuth && !group[0].Reread && (group[0].Tries == 0 || len(group) > 2) {
		if p, ok := a.listNamed(group[0].List); ok {
			rest, isLight, err := s.fetchContentByList(ctx, a, p, group, t)
			switch {
			case err == nil && isLight && len(rest) > 0, err != nil && mayAskForLess(err):
				first := rest[0].Failures % len(rest) // another one each time, since that one may fail alone
				group, isDoubtful = slices.Concat(rest[first:], rest[:first]), true
			case err == nil:
				lacked, err := s.findLacked(ctx, a, group, t)
				if err != nil {
					return err
				}
				group = append(rest, lacked...)
			default:
				return s.postponeTasks(ctx, a, group, err)
			}
		}
	}
	for i, task := range group {
		call := ctx
		if isDoubtful {
			call = api.WithoutRepetition(ctx)
		}
		err := s.fetchContent(call, a, task, t)
		if err == nil {
			isDoubtful = false
			continue
		}
		failed := group[i : i+1]
		if isDoubtful {
			failed = group[i:]
		}
		if err := s.postponeTasks(ctx, a, failed, err); err != nil || isDoubtful {
			return err
		}
	}
	return nil
}

// findLacked returns the tasks of a group that a list left without content, where the call for the
// content of one of them finds it: a list may never have content for an account. At each try it asks
// for another one, since that one may have none.
func (s *Syncer) findLacked(ctx context.Context, a *account, group []contentTask, t *runStats) ([]contentTask, error) {
	var lacked []contentTask
	for _, old := range group {
		if now, ok := s.content.get(old.RecordingID); ok && old.Tries > 0 && now.Tries > old.Tries {
			lacked = append(lacked, now)
		}
	}
	if len(lacked) == 0 {
		return nil, nil
	}
	i := lacked[0].Tries % len(lacked)
	asked := lacked[i]
	if err := s.fetchContent(ctx, a, asked, t); err != nil {
		return nil, s.postponeTasks(ctx, a, []contentTask{asked}, err)
	}
	if now, ok := s.content.get(asked.RecordingID); ok && now.Transcript == asked.Transcript && now.Summary == asked.Summary {
		return nil, nil
	}
	return slices.Delete(lacked, i, i+1), nil
}

// skipForgotten removes the tasks of forgotten meetings: those that were written for a
// list or a delivery that still shows the meeting, and those of meetings that were
// forgotten while no syncer ran.
func (s *Syncer) skipForgotten(ctx context.Context, group []contentTask) ([]contentTask, error) {
	var ids []int64
	for _, task := range group {
		ids = append(ids, task.RecordingID)
	}
	forgotten, err := s.archive.Forgotten(ctx, ids)
	if err != nil || len(forgotten) == 0 {
		return group, err
	}
	_, err = s.apply(ctx, nil, nil, slices.Collect(maps.Keys(forgotten)))
	return slices.DeleteFunc(slices.Clone(group), func(task contentTask) bool { return forgotten[task.RecordingID] }), err
}

// listNamed returns the account's list query of that name.
func (a *account) listNamed(name string) (listQuery, bool) {
	for _, p := range a.lists {
		if p.Name == name {
			return p, true
		}
	}
	return listQuery{}, false
}
