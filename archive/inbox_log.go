package archive

import (
	"fmt"
	"os"

	"minutebook/internal/durable"
)

// The inbox commits with synchronous=NORMAL, which leaves a commit in the log
// unsynced, and the log is synced here, on a goroutine of its own, before anybody
// hears of the commit. That is what synchronous=FULL does, but the next group is
// written meanwhile instead of waiting for the disk. A checkpoint syncs the log
// before it copies from it in either mode, so that a crash leaves the file whole.

// An inboxLog is SQLite's log of the inbox, as a file to be synced. It is the
// syncing goroutine's.
type inboxLog struct {
	path string
	file *os.File
}

func (l *inboxLog) sync() error {
	if err := l.open(); err != nil {
		return err
	}
	return durable.SyncData(l.file)
}

// open has the log's file open. SQLite keeps it while it has connections.
func (l *inboxLog) open() error {
	there, err := os.Stat(l.path)
	if err != nil {
		return fmt.Errorf("sync the inbox's log: %w", err)
	}
	if l.file != nil {
		if mine, err := l.file.Stat(); err == nil && os.SameFile(mine, there) {
			return nil
		}
		l.close()
	}
	if l.file, err = os.OpenFile(l.path, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("sync the inbox's log: %w", err)
	}
	return nil
}

func (l *inboxLog) close() error {
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// persist returns nil when all that was committed before it was called is on
// disk. Once it has failed it fails for good: what it was to write may be lost to
// a later sync that succeeds. What there is can be made durable only by whoever
// opens the inbox again.
func (i *Inbox) persist() error {
	if err := i.broken(); err != nil {
		return err
	}
	err := i.spill.sync()
	if err == nil {
		err = i.walFile.sync()
	}
	if err != nil {
		i.spill.markUnsynced()
		err = fmt.Errorf("%w: %w; look after the disk and start again", ErrInboxDisk, err)
		i.syncError.Store(&err)
		close(i.failed)
	}
	return err
}

// broken is the error of a sync that failed, nil where none has.
func (i *Inbox) broken() error {
	if err := i.syncError.Load(); err != nil {
		return *err
	}
	return nil
}

// Failed is closed when a sync has failed: nothing is acknowledged any more until
// the inbox is opened again, best by a new process.
func (i *Inbox) Failed() <-chan struct{} { return i.failed }

// syncLoop is the only goroutine that answers writes whose commit succeeded. The
// writer waits for it to take a group, so that groups grow while the disk is slow.
func (i *Inbox) syncLoop() {
	defer close(i.stopped)
	defer i.walFile.close()
	for group := range i.committed {
		err := inboxError(i.step(StepSync, i.persist))
		if err != nil {
			i.log.Error().Err(err).Msg("inbox write failed")
		}
		i.answer(group, err)
	}
}
