package syncer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"minutebook/archive"
)

// asks is what is open of content, in memory: a copy of the marks under
// askPrefix, changed after each commit that changes them.
type contentQueue struct {
	mu         sync.Mutex // guards what follows
	open       map[int64]contentTask
	inProgress map[int64]bool // being answered
	change     chan struct{}  // closed and replaced at every update
}

func newContentQueue() *contentQueue {
	return &contentQueue{open: map[int64]contentTask{}, inProgress: map[int64]bool{}, change: make(chan struct{})}
}

// load reads the marks of an archive.
func (b *contentQueue) load(ctx context.Context, ar *archive.Archive) error {
	marks, err := ar.Marks(ctx, taskPrefix)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, value := range marks {
		a, err := decodeTask(value)
		if err != nil {
			return err
		}
		if _, ok := b.open[a.RecordingID]; !ok {
			b.open[a.RecordingID] = a
		}
	}
	return nil
}

func (b *contentQueue) get(id int64) (contentTask, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.open[id]
	return a, ok
}

// update is called after the commit that wrote the same.
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

func (b *contentQueue) signalChange() {
	close(b.change)
	b.change = make(chan struct{})
}

// take hands out at most limit asks of a lane of an account that are due, urgent
// ones and then new meetings first. They are given back with release.
func (b *contentQueue) takeDue(account string, spare bool, now time.Time, limit int) []contentTask {
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []contentTask
	for id, a := range b.open {
		if a.Account == account && a.isSpare() == spare && !b.inProgress[id] && !a.dueAt(now).After(now) {
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

func (b *contentQueue) release(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.inProgress, id)
	b.signalChange()
}

// next is when the next ask of a lane of an account is due that is not taken,
// zero when there is none.
func (b *contentQueue) nextDue(account string, spare bool, now time.Time) (next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, a := range b.open {
		if a.Account == account && a.isSpare() == spare && !b.inProgress[id] && (next.IsZero() || a.dueAt(now).Before(next)) {
			next = a.dueAt(now)
		}
	}
	return next
}

// pressing tells how many asks of an account are due that are more than spare
// ones, and what is closed at the next change.
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

// state tells how many asks of an account are open and due, when the next one
// is due, and what is closed at the next change.
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
