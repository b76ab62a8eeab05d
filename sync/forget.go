package syncer

import (
	"context"
	"os"
	"strconv"

	"minutebook/archive"
)

// forget ends what is being done for a meeting that was forgotten. The archive
// calls it, see archive.OnForget. What begins later finds the tombstone.
func (s *Syncer) forget(ctx context.Context, id int64) error {
	if err := s.downloads.forget(ctx, id); err != nil {
		return err
	}
	return s.dropTasks(ctx, id)
}

// dropAsks ends asks, on disk and in memory.
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

// dropForgottenAsks ends asks that were written while their meetings were being
// forgotten. It is called after they were: a meeting that is forgotten later takes
// them along.
func (s *Syncer) dropForgottenTasks(ctx context.Context, written []contentTask) error {
	var ids []int64
	for _, a := range written {
		ids = append(ids, a.RecordingID)
	}
	forgotten, err := s.archive.Forgotten(ctx, ids)
	if err != nil || len(forgotten) == 0 {
		return err
	}
	ids = ids[:0]
	for id := range forgotten {
		ids = append(ids, id)
	}
	return s.dropTasks(ctx, ids...)
}

// forget interrupts the task of a recording, waits for its end, and deletes what
// it has fetched.
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
	if sha != "" {
		if _, err := l.s.archive.DropBlob(ctx, sha); err != nil {
			return err
		}
	}
	if err := os.Remove(l.s.archive.PartialPath(strconv.FormatInt(id, 10))); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
