package archive

import (
	"context"
	"database/sql"
	"fmt"

	"minutebook/internal/sqlite"
)

// A checkpoint copies the inbox's log into its file and syncs that: work that no
// acknowledgement should wait for. The checkpointer does it on a connection of
// its own whenever checkpointBytes or checkpointCommits more were committed. Under steady load it
// never reaches the log's end, so that the log is not begun anew; once the log
// is longer than maxInboxLog the writer does the little that is left itself.
const (
	checkpointBytes   = 8 << 20
	checkpointCommits = 64 // small changes write pages too
	maxInboxLog       = 64 << 20
)

// checkpointer is what the writer and the checkpointing goroutine share.
type checkpointer struct {
	db     *sql.DB       // one connection, used by the goroutine alone
	due    chan struct{} // one place: committed enough for another checkpoint
	finish chan struct{} // one place: the log is too long, the writer is to see to it
	done   chan struct{} // closed when the goroutine has ended

	// What was committed since due was last told; the writer's.
	bytes   int64
	commits int
}

func newCheckpointer(path string) *checkpointer {
	return &checkpointer{
		db:  sqlite.OpenWriter(path),
		due: make(chan struct{}, 1), finish: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// committed counts one commit of the writer.
func (c *checkpointer) committed(bytes int64) {
	c.bytes += bytes
	c.commits++
	if c.bytes < checkpointBytes && c.commits < checkpointCommits {
		return
	}
	c.bytes, c.commits = 0, 0
	select {
	case c.due <- struct{}{}:
	default: // one is waiting already
	}
}

// checkpointLoop ends when due is closed. A checkpoint that fails is tried again
// with the next; until then the log is longer, and nothing is lost.
func (i *Inbox) checkpointLoop() {
	c := i.checkpoints
	defer close(c.done)
	for range c.due {
		if i.broken() != nil { // nothing more is to be copied out of a log that has a hole
			continue
		}
		logged, err := checkpoint(c.db)
		if err != nil {
			i.log.Error().Err(err).Msg("checkpoint of the inbox failed")
		}
		if logged > maxInboxLog {
			select {
			case c.finish <- struct{}{}:
			default:
			}
		}
	}
}

// finishCheckpoint runs between two groups: with nobody writing, a checkpoint
// reaches the log's end and the next commit begins it anew.
func (i *Inbox) finishCheckpoint() {
	select {
	case <-i.checkpoints.finish:
	default:
		return
	}
	if _, err := checkpoint(i.db.W); err != nil {
		i.log.Error().Err(err).Msg("checkpoint of the inbox failed")
	}
}

// checkpoint copies what no reader is in the way of, and says how many bytes
// the log has.
func checkpoint(db *sql.DB) (logged int64, err error) {
	var busy, pages, copied, size int64
	ctx := context.Background()
	if err := db.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&size); err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &pages, &copied); err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	return pages * size, nil
}

// close waits for a checkpoint under way. The writer has ended before.
func (c *checkpointer) close() error {
	close(c.due)
	<-c.done
	return c.db.Close()
}
