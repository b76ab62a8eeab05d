package syncer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"minutebook/archive"
)

// contentQueue holds the open tasks in memory: a copy of the marks under
// taskPrefix, updated after each commit that changes them. It is safe for
// concurrent use.
type contentQueue struct {
	mu         sync.Mutex // guards the fields below
	open       map[int64]contentTask
	inProgress map[int64]bool // somebody works on it
	change     chan struct{}  // closed and replaced at every update
}

// newContentQueue returns a queue without tasks.
func newContentQueue() *contentQueue {
	return &contentQueue{open: map[int64]contentTask{}, inProgress: map[int64]bool{}, change: make(chan struct{})}
}

// load adds the tasks in the archive's marks.
func (b *contentQueue) load(ctx context.Context, ar *archive.Archive) error {
	marks, err := ar.Marks(ctx, taskPrefix)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, value := range marks {
		a, err := decodeMark[contentTask](key, value)
		if err != nil {
			return err
		}
		if _, ok := b.open[a.RecordingID]; !ok {
			b.open[a.RecordingID] = a
		}
	}
	return nil
}

// get returns the open task of a meeting.
func (b *contentQueue) get(id int64) (contentTask, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.open[id]
	return a, ok
}

// update makes the changes that the caller has committed.
func (b *contentQueue) update(wanted []contentTask, done []int64) {
	if len(wanted)+len(done) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range wanted {
		b.open[a.RecordingID] = a
	}
	for _, id := range done {
		delete(b.open, id)
	}
	b.signalChange()
}

// signalChange wakes everyone who waits for a change.
func (b *contentQueue) signalChange() {
	close(b.change)
	b.change = make(chan struct{})
}

// takeDue returns at most limit due tasks of one lane of an account: urgent
// ones first, then those of the newest meetings. The caller gives each of them
// back with release.
func (b *contentQueue) takeDue(account string, isSpare bool, now time.Time, limit int) []contentTask {
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []contentTask
	for id, a := range b.open {
		if a.Account == account && a.isSpare() == isSpare && !b.inProgress[id] && !a.dueAt(now).After(now) {
			due = append(due, a)
		}
	}
	slices.SortFunc(due, func(x, y contentTask) int {
		if x.Urgent != y.Urgent {
			if x.Urgent {
				return -1
			}
			return 1
		}
		if c := y.Created.Compare(x.Created); c != 0 {
			return c
		}
		return strings.Compare(taskKey(x.RecordingID), taskKey(y.RecordingID))
	})
	due = due[:min(limit, len(due))]
	for _, a := range due {
		b.inProgress[a.RecordingID] = true
	}
	return due
}

// release gives back a task that takeDue returned.
func (b *contentQueue) release(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inProgress, id)
	b.signalChange()
}

// nextDue returns when the next task of a lane that nobody works on is due,
// zero when there is none.
func (b *contentQueue) nextDue(account string, isSpare bool, now time.Time) (next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, a := range b.open {
		if a.Account == account && a.isSpare() == isSpare && !b.inProgress[id] && (next.IsZero() || a.dueAt(now).Before(next)) {
			next = a.dueAt(now)
		}
	}
	return next
}

// countRegular counts the due tasks of an account that are not spare ones.
// change is closed at the next change of the queue.
func (b *contentQueue) countRegular(account string, now time.Time) (due int, change <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.open {
		if a.Account == account && !a.isSpare() && !a.dueAt(now).After(now) {
			due++
		}
	}
	return due, b.change
}

// status counts an account's open and due tasks and returns when the next one
// is due. change is closed at the next change of the queue.
func (b *contentQueue) status(account string, now time.Time) (open, due int, next time.Time, change <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, a := range b.open {
		if a.Account != account {
			continue
		}
		open++
		if !a.dueAt(now).After(now) {
			due++
		}
		if !b.inProgress[id] && (next.IsZero() || a.dueAt(now).Before(next)) {
			next = a.dueAt(now)
		}
	}
	return open, due, next, b.change
}

// isInProgress reports whether somebody works on the task of a meeting.
func (b *contentQueue) isInProgress(id int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inProgress[id]
}
