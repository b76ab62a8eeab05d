package syncer

import (
	"context"
	"slices"
	"strconv"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// planTasks decides which content has to be read after a page: content that a
// light page does not carry, for meetings that are new or read again, and
// content that a full page should have carried and did not. The tasks in done
// were fulfilled by the page or attempted often enough. Of the meetings in fulfilled
// everything is here with the page.
func (s *Syncer) planTasks(ctx context.Context, o walkSpec, batch []archive.Observation) (wanted []contentTask, done []int64, fulfilled []string, err error) {
	ids := make([]int64, len(batch))
	for i, ob := range batch {
		ids[i] = ob.RecordingID
	}
	rows, err := s.archive.Rows(ctx, ids)
	if err != nil {
		return nil, nil, nil, err
	}
	seen := map[int64]bool{}
	var d taskPlan
	now := s.now() // not the time of the call: only this clock says when a task is due
	for _, ob := range batch {
		if seen[ob.RecordingID] {
			continue
		}
		seen[ob.RecordingID] = true
		row := rows[ob.RecordingID]
		old, asked, err := s.taskAfter(ctx, o, ob.RecordingID, &d)
		if err != nil {
			return nil, nil, nil, err
		}
		a, isKnown := newTask(o, ob, row, now), row != nil && !row.Gone // one that comes back is as good as new
		if o.isInline() {
			planAfterFullPage(&d, o, a, lackedTask(o, ob, row, a), old, asked, isKnown, now)
		} else {
			planAfterLightPage(&d, o, a, asked, isKnown)
		}
	}
	return d.wanted, d.done, d.fulfilled, nil
}

// taskAfter returns the open task of a meeting on a page. It moves to the account of the page where
// its own is suspended, not configured or not shown the meeting any more.
func (s *Syncer) taskAfter(ctx context.Context, o walkSpec, id int64, d *taskPlan) (task contentTask, asked bool, err error) {
	task, asked = s.content.get(id)
	if !asked || task.Account == o.account.Name {
		return task, asked, nil
	}
	readers, err := s.readers(ctx, id)
	if err == nil && !slices.ContainsFunc(readers, func(r archive.Sighting) bool { return r.Account == task.Account }) {
		task.Account, task.List = o.account.Name, o.list.Name
		d.wanted = append(d.wanted, task)
	}
	return task, asked, err
}

// readers returns the list queries that show a meeting now to accounts that may be used.
func (s *Syncer) readers(ctx context.Context, id int64) ([]archive.Sighting, error) {
	shown, err := s.archive.OpenSightings(ctx, id)
	return slices.DeleteFunc(shown, func(w archive.Sighting) bool {
		a := s.account(w.Account)
		return a == nil || a.suspension() != nil
	}), err
}

// passOn gives a task to the next account that may be used and is shown the meeting, and reports
// whether there is another one than its own.
func (s *Syncer) passOn(ctx context.Context, task contentTask) (contentTask, bool, error) {
	readers, err := s.readers(ctx, task.RecordingID)
	if err != nil {
		return task, false, err
	}
	next := slices.IndexFunc(readers, func(r archive.Sighting) bool { return r.Account > task.Account })
	if next = max(next, 0); len(readers) == 0 || readers[next].Account == task.Account {
		return task, false, nil
	}
	task.Account, task.List = readers[next].Account, readers[next].Query
	return task, true, nil
}

// taskPlan collects the tasks that follow from a page.
type taskPlan struct {
	wanted    []contentTask
	done      []int64
	fulfilled []string
}

// planAfterFullPage looks at a meeting of a page with content. Content that is
// missing does not exist yet and gets a task, unless it was waited for when the
// meeting was new. Content that was lacked has a task of its own where content is read again.
func planAfterFullPage(d *taskPlan, o walkSpec, a, lacked, old contentTask, asked, isKnown bool, now time.Time) {
	isLacked := lacked.Transcript || lacked.Summary
	isOver := !a.Transcript && !a.Summary
	if isOver {
		d.fulfilled = append(d.fulfilled, strconv.FormatInt(a.RecordingID, 10))
	}
	isOver = isOver || !asked && isKnown && now.Sub(a.Created) > oldAfter // it was attempted often enough
	switch {
	case asked && old.Reread && isLacked: // the task is under way
		return
	case isOver && asked:
		d.done = append(d.done, a.RecordingID)
		return
	case isOver && isLacked && o.reread:
		d.wanted = append(d.wanted, lacked)
		return
	case isOver:
		return
	case asked:
		old.Transcript, old.Summary, old.Failures = a.Transcript, a.Summary, 0
		a = old
	}
	if a.dueAt(now).After(now) {
		return // its next attempt is planned
	}
	next, ok := a.nextAttempt(now)
	switch {
	case ok:
		d.wanted = append(d.wanted, next)
	case asked:
		d.done = append(d.done, a.RecordingID)
	}
}

// planAfterLightPage looks at a meeting of a page without content. A new meeting gets a task, and so
// does a known one that is to be read again, or that a backfill finds without its content.
func planAfterLightPage(d *taskPlan, o walkSpec, a contentTask, asked, isKnown bool) {
	switch {
	case asked:
	case (!isKnown || o.kind == kindBackfill) && (a.Transcript || a.Summary):
		d.wanted = append(d.wanted, a)
	case o.reread:
		a.Transcript, a.Summary, a.Reread, a.Spare = true, true, true, o.spare
		d.wanted = append(d.wanted, a)
	}
}

// newTask returns the task for content that neither the observation nor the
// archive has. Both Transcript and Summary are false when nothing is missing.
func newTask(o walkSpec, ob archive.Observation, row *archive.Row, now time.Time) contentTask {
	created := createdAt(ob.Parts[api.PartMeeting])
	if created.IsZero() {
		created = now
	}
	return contentTask{
		RecordingID: ob.RecordingID, Account: o.account.Name, List: o.list.Name,
		Transcript: !api.HasContent(api.PartTranscript, ob.Parts[api.PartTranscript]) && (row == nil || !row.HasTranscript),
		Summary:    !api.HasContent(api.PartSummary, ob.Parts[api.PartSummary]) && (row == nil || !row.HasSummary),
		Created:    created, First: now, Due: now,
	}
}

// lackedTask returns the second reading of content that the observation of a known meeting lacks,
// though it was asked for: a list may never have it for an account, and then the call for the
// content alone shows an edit, or the content itself after it was awaited in vain.
func lackedTask(o walkSpec, ob archive.Observation, row *archive.Row, a contentTask) contentTask {
	a.Transcript = row != nil && !api.HasContent(api.PartTranscript, ob.Parts[api.PartTranscript])
	a.Summary = row != nil && !api.HasContent(api.PartSummary, ob.Parts[api.PartSummary])
	a.Reread, a.Spare = true, o.spare
	return a
}
