package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/mattn/go-sqlite3"

	"minutebook/internal/sqlite"
)

// maxGroup and maxGroupBytes limit one commit, so that its first delivery does not wait
// for long.
const (
	maxGroup      = 256
	maxGroupBytes = 8 << 20
	maxYields     = 4 // turns given to others, one after the other, without a write
)

// A write is one change of the inbox. done is closed, and err filled in before,
// once the commit that holds the change is on disk, or has failed.
type write struct {
	do      func(context.Context, *sql.Conn) error
	size    int64 // bytes that wait for it
	arrives bool  // brings a delivery to apply
	done    chan struct{}
	err     error
}

// submit has the writer do w and waits for its commit. When ctx ends first, the
// change can still take place.
func (i *Inbox) submit(ctx context.Context, w *write) error {
	w.done = make(chan struct{})
	if !i.reserve(w.size) {
		return ErrBehind
	}
	select {
	case <-i.stop:
		i.release(w.size)
		return ErrClosed
	default:
	}
	select {
	case i.writes <- w:
	case <-i.stop:
		i.release(w.size)
		return ErrClosed
	case <-ctx.Done():
		i.release(w.size)
		return ctx.Err()
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	case <-i.stopped:
	}
	select { // the writer has ended: with this write, or before it
	case <-w.done:
		return w.err
	default:
		return ErrClosed
	}
}

func (i *Inbox) reserve(size int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.waiting > 0 && i.waiting+size > i.maxWaiting {
		return false
	}
	i.waiting += size
	return true
}

func (i *Inbox) release(size int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting -= size
}

// Behind reports whether a Put of size bytes would be refused, because too many bytes
// wait for a commit.
func (i *Inbox) Behind(size int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.waiting > 0 && i.waiting+size > i.maxWaiting
}

// writeLoop is the only goroutine that commits. It takes whatever waits as one
// group. Between groups it empties the log where that is asked for.
func (i *Inbox) writeLoop() {
	defer close(i.stopped)
	var again <-chan time.Time // when to try once more to empty the log
	for {
		select {
		case w := <-i.writes:
			i.commitGroup(i.gather(w))
			continue
		default:
		}
		select {
		case w := <-i.writes:
			i.commitGroup(i.gather(w))
		case <-i.truncations:
			again = i.retryEmptyLog()
		case <-again:
			again = i.retryEmptyLog()
		case <-i.stop:
			for len(i.writes) > 0 {
				i.commitGroup(i.gather(<-i.writes))
			}
			return
		}
	}
}

// gather takes the waiting writes. Handlers that are about to put something get their
// turn first: a commit costs the same for one as for many, and nothing is waited
// for when nobody is.
func (i *Inbox) gather(first *write) []*write {
	group, size := []*write{first}, first.size
	for yielded := 0; len(group) < maxGroup && size < maxGroupBytes; {
		select {
		case w := <-i.writes:
			group, size, yielded = append(group, w), size+w.size, 0
		default:
			if yielded == maxYields {
				return group
			}
			yielded++
			runtime.Gosched()
		}
	}
	return group
}

// commitGroup writes a group in one transaction and answers it. When anything of
// it fails, nothing of it has happened, and each is tried in a transaction of its
// own: a bad one fails alone.
func (i *Inbox) commitGroup(group []*write) {
	ctx := context.Background() // a commit under way is not given up
	if err := i.commit(ctx, group); err != nil {
		for n, w := range group {
			if len(group) > 1 {
				err = i.commit(ctx, group[n:n+1])
			}
			if err != nil {
				w.err = markRetryable(err)
				i.log.Error().Err(w.err).Msg("inbox write failed")
			}
		}
	}
	i.finish(group)
}

// finish wakes the callers of a group of writes.
func (i *Inbox) finish(group []*write) {
	var size int64
	arrived := 0
	for _, w := range group {
		size += w.size
		if w.arrives && w.err == nil {
			arrived++
		}
	}
	i.subtract(size, arrived)
	for _, w := range group {
		close(w.done)
	}
}

// subtract removes writes that no longer wait from the counts, and wakes WaitPending.
func (i *Inbox) subtract(size int64, arrived int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.waiting -= size
	i.rate.count(i.now().Unix(), arrived)
	if arrived > 0 {
		close(i.arrived)
		i.arrived = make(chan struct{})
	}
}

func (i *Inbox) commit(ctx context.Context, group []*write) error {
	return i.db.UseWriter(ctx, func(conn *sql.Conn) error { return i.commitOn(ctx, conn, group) })
}

func (i *Inbox) commitOn(ctx context.Context, conn *sql.Conn, group []*write) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, rollbackOpen(ctx, conn))
		}
	}()
	if err := i.step(StepBegin, func() error { return execOn(ctx, conn, "BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	for _, w := range group {
		if err := i.step(StepInsert, func() error { return w.do(ctx, conn) }); err != nil {
			return err
		}
	}
	return i.step(StepCommit, func() error { return execOn(ctx, conn, "COMMIT") })
}

func (i *Inbox) step(s Step, do func() error) error {
	if err := i.fault(s, false); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return i.fault(s, true)
}

func execOn(ctx context.Context, conn *sql.Conn, query string) error {
	_, err := conn.ExecContext(ctx, query)
	return err
}

// rollbackOpen ends the transaction, if there still is one: some errors have
// ended it already.
func rollbackOpen(ctx context.Context, conn *sql.Conn) error {
	open := false
	err := conn.Raw(func(c any) error {
		open = !c.(*sqlite3.SQLiteConn).AutoCommit()
		return nil
	})
	if err != nil || !open {
		return err
	}
	return execOn(ctx, conn, "ROLLBACK")
}

// markRetryable marks the errors after which a sender may try again.
func markRetryable(err error) error {
	var lite sqlite3.Error
	switch {
	case !sqlite.IsPassing(err):
		return err
	case errors.As(err, &lite) && (lite.Code == sqlite3.ErrBusy || lite.Code == sqlite3.ErrLocked):
		return fmt.Errorf("%w: %w", ErrBehind, err)
	}
	return fmt.Errorf("%w: %w", ErrDisk, err)
}
