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

// fetchContentByList reads up to two pages of a list, with content, that should
// hold the meetings of the group. It returns the tasks that these pages did not
// change, with an error too, and whether a page came without content.
func (s *Syncer) fetchContentByList(ctx context.Context, a *account, p listQuery, group []contentTask, t *runStats) (rest []contentTask, isLight bool, err error) {
	o := walkSpec{account: a, list: p, content: true}
	newest, oldest := group[0].Created, group[len(group)-1].Created
	w := window{After: oldest, Before: newest}
	for range 2 {
		after, before := w.bounds()
		page, err := s.fetchPage(withTaskPriority(ctx, group[0]), o, after, before, w.Cursor)
		if err != nil {
			return group, isLight, err
		}
		isLight = isLight || !page.spec.content
		if err := s.applyPage(ctx, page, t, func() archive.Mark { return archive.Mark{} }); err != nil {
			return group, isLight, err
		}
		group = slices.DeleteFunc(slices.Clone(group), func(old contentTask) bool {
			now, ok := s.content.get(old.RecordingID)
			return !ok || now.Tries != old.Tries
		})
		if w, err = w.advanced(page.NextCursor); err != nil || w.Done || len(group) < 2 || !page.spec.content {
			break
		}
	}
	return group, isLight, nil
}

// contentAnswers are the service's answers to the reads of one meeting's content.
type contentAnswers struct {
	batch     []archive.Observation
	task      contentTask
	remaining contentTask // without the parts in batch
	isAwaited bool        // a part does not exist yet
	isMissing bool        // 404 for a part: another account may find it
	failed    error
	forbidden error // 403 for a part
}

// fetchContent reads the missing content of one meeting. Where the service finds none of it
// (404), it may be the account that is refused.
func (s *Syncer) fetchContent(ctx context.Context, a *account, task contentTask, t *runStats) error {
	ctx = withTaskPriority(ctx, task)
	now := s.now()
	got := contentAnswers{task: task, remaining: task}
	isAnswered := false
	read := func(wanted *bool, part api.Part, src archive.Source, call func(context.Context, int64) (*api.Content, error)) {
		if !*wanted {
			return
		}
		c, err := call(ctx, task.RecordingID)
		if err != nil {
			err = s.classifyRefusal(ctx, a, err)
			if api.IsForbidden(err) && !errors.Is(err, errSuspended) {
				got.forbidden = errors.Join(got.forbidden, err)
			} else {
				got.failed = errors.Join(got.failed, err)
			}
			return
		}
		got.isMissing, isAnswered = got.isMissing || c.NotFound, isAnswered || !c.NotFound
		t.countContent()
		if c.Raw == nil {
			got.isAwaited = true
			return
		}
		*wanted = false
		got.batch = append(got.batch, archive.Observation{Account: a.Name, Source: src, At: c.SentAt, Order: c.Order,
			RecordingID: task.RecordingID, Parts: map[api.Part]json.RawMessage{part: c.Raw}})
	}
	read(&got.remaining.Transcript, api.PartTranscript, archive.SourceTranscript, a.Client.Transcript)
	read(&got.remaining.Summary, api.PartSummary, archive.SourceSummary, a.Client.Summary)
	if got.failed == nil && got.forbidden == nil && got.isMissing && !isAnswered {
		got.failed = s.checkRefusal(ctx, a)
	}
	return s.applyContent(ctx, a, got, now)
}

// applyContent stores the content that was read for a task and plans its next
// attempt, by another account where there is one and this one may not read it or
// does not find it. Content that does not exist yet is no failure. Content that the
// account may not read is a failure, which is not repeated for itself.
func (s *Syncer) applyContent(ctx context.Context, a *account, got contentAnswers, now time.Time) error {
	next, isWanted := got.remaining, got.failed != nil
	if !isWanted && (got.isMissing || got.forbidden != nil) {
		passed, isPassed, err := s.passOn(ctx, next)
		if err != nil {
			return err
		}
		next, got.isAwaited = passed, got.isAwaited || isPassed
	}
	if !isWanted {
		next.Failures = 0
	}
	if !isWanted && got.isAwaited {
		next, isWanted = next.nextAttempt(now)
	}
	failure := archive.Failure{Account: a.Name, Class: classContent, What: strconv.FormatInt(next.RecordingID, 10), RecordingID: next.RecordingID}
	wanted, done := []contentTask(nil), []int64{next.RecordingID}
	if isWanted {
		wanted, done, failure.NextTry = []contentTask{next}, nil, next.Due
	}
	if now, ok := s.content.get(next.RecordingID); !ok || now != got.task { // somebody planned it anew
		wanted, done = nil, nil
	}
	if _, err := s.apply(ctx, got.batch, wanted, done); err != nil {
		return err
	}
	switch {
	case got.failed != nil:
		return got.failed
	case got.forbidden != nil:
		failure.Reason = got.forbidden.Error()
		return s.archive.RecordFailure(ctx, failure)
	default:
		return s.archive.ResolveFailure(ctx, "", classContent, failure.What)
	}
}

// postponeTasks puts tasks off after a failed call and records the failure. A second reading that
// fails again and again ends. It returns the error if the account or the run cannot go on.
func (s *Syncer) postponeTasks(ctx context.Context, a *account, group []contentTask, failed error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(failed, errSuspended) || errors.Is(failed, errLeft) {
		return failed
	}
	var wanted []contentTask
	var done []int64
	for _, task := range group {
		current, ok := s.content.get(task.RecordingID)
		if !ok {
			continue
		}
		if current.Account == a.Name && len(group) == 1 { // its account may never be answered
			var err error
			if current, _, err = s.passOn(ctx, current); err != nil {
				return err
			}
		}
		if !isLocal(failed) {
			current.Failures++
		}
		if current.Reread && current.Failures >= maxRereads {
			done = append(done, current.RecordingID)
			continue
		}
		wanted = append(wanted, current.postponed(s.now()))
	}
	failure := archive.Failure{Account: a.Name, Class: classContent, Reason: failed.Error()}
	switch {
	case len(wanted) > 0:
		failure.RecordingID, failure.NextTry = wanted[0].RecordingID, wanted[0].Due
	case len(done) > 0:
		failure.RecordingID = done[0]
	default:
		return nil
	}
	failure.What = strconv.FormatInt(failure.RecordingID, 10)
	if _, err := s.apply(ctx, nil, wanted, done); err != nil {
		return err
	}
	return s.archive.RecordFailure(ctx, failure)
}

// renewTasks makes the failed tasks of meetings that a list or a delivery shows changed due again, but
// those under way, whose own list it may be.
func (s *Syncer) renewTasks(ctx context.Context, changed []int64) error {
	var wanted []contentTask
	for _, id := range changed {
		if task, ok := s.content.get(id); ok && task.Failures > 0 && !s.content.isInProgress(id) {
			task.Failures, task.Due, task.Dated = 0, s.now(), s.now()
			wanted = append(wanted, task)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	_, err := s.apply(ctx, nil, wanted, nil)
	return err
}

// withTaskPriority gives the calls of a task their priority.
func withTaskPriority(ctx context.Context, a contentTask) context.Context {
	switch {
	case a.Urgent:
		return api.WithPriority(ctx, api.PriorityFollowUp)
	case a.isSpare():
		return api.WithPriority(ctx, api.PriorityLater)
	}
	return ctx
}
