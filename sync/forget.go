package syncer

import (
	"context"

	"minutebook/archive"
)

// forget ends the work for a meeting that was forgotten. The archive calls it,
// see [archive.Archive.OnForget]. Work that begins later finds the tombstone: content
// tasks in skipForgotten.
func (s *Syncer) forget(ctx context.Context, id int64) error {
	if err := s.downloads.forget(ctx, id); err != nil {
		return err
	}
	return s.dropTasks(ctx, id)
}

// dropTasks deletes content tasks, on disk and in memory.
func (s *Syncer) dropTasks(ctx context.Context, ids ...int64) error {
	var marks []archive.Mark
	for _, id := range ids {
		marks = append(marks, archive.Mark{Key: taskKey(id)})
	}
	if err := s.archive.SetMarks(ctx, marks...); err != nil {
		return err
	}
	s.content.update(nil, ids)
	return nil
}

// forget stops the work on a recording, waits for its end and notes the file that it stored.
// The archive deletes that and the partial file afterwards.
func (l *downloader) forget(ctx context.Context, id int64) error {
	l.mu.Lock()
	t := l.tasks[id]
	l.mu.Unlock()
	sha := ""
	if t != nil {
		t.cancel()
		select {
		case <-t.done:
			sha = t.row.SHA256
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.noteFailure(id, nil) // it may have rested
	l.wake()
	if sha != "" {
		return l.s.archive.ExpectMedia(ctx, id, sha) // no call to a bucket here, which may be silent
	}
	return nil
}
