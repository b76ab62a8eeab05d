package archive

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"

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
// disk. Once it has failed, what it was to write may be lost to a later sync that
// succeeds: from then on everything must first have been written anew.
func (i *Inbox) persist() error {
	if i.failed {
		if err := i.writeAnew(context.Background()); err != nil {
			return err
		}
		i.failed = false
		i.spill.release()
		return nil
	}
	err := i.spill.sync()
	if err == nil {
		err = i.walFile.sync()
	}
	if i.failed = err != nil; i.failed {
		i.spill.hold()
	}
	return err
}

// writeAnew brings in what was spilled, copies the whole log into the inbox's
// file, syncs that, and empties the log: what a failed sync has left out of it on
// the disk would, after a loss of power, cut off all that was written behind it.
// It borrows the writer's connection between two groups.
func (i *Inbox) writeAnew(ctx context.Context) error {
	upTo := i.spill.rotate()
	if err := i.spill.sync(); err != nil {
		return err
	}
	for {
		list, err := readSpilled(ctx, i.db.R, spillRef{}, upTo)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		bodies, err := i.bring(list)
		if err != nil {
			return err
		}
		if err := i.db.inTx(ctx, func(tx *sql.Tx) error { return i.putWhole(ctx, tx, bodies) }); err != nil {
			return err
		}
	}
	if err := emptyLog(ctx, i.db.W); err != nil {
		return err
	}
	if err := i.walFile.sync(); err != nil {
		return err
	}
	return i.spill.remove(upTo)
}

// putWhole is putBrought, but damaged bodies are set aside: nobody may have been
// answered for them.
func (i *Inbox) putWhole(ctx context.Context, tx *sql.Tx, list []brought) error {
	for _, b := range list {
		if !b.damaged {
			continue
		}
		if err := i.setAside(ctx, tx, b.spilled); err != nil {
			return err
		}
	}
	return putBrought(ctx, tx, slices.DeleteFunc(list, func(b brought) bool { return b.damaged }))
}

// emptyLog copies the whole log into the file, syncs that, and empties the log.
func emptyLog(ctx context.Context, db *sql.DB) error {
	var busy, pages, copied int64
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &copied); err != nil {
		return fmt.Errorf("empty the inbox's log: %w", err)
	}
	if busy != 0 {
		return fmt.Errorf("empty the inbox's log: %w: a reader or a checkpoint is in the way", ErrInboxDisk)
	}
	return nil
}

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
