package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
)

// Position is a place in the change log. The zero Position is its beginning.
type Position struct {
	Epoch string
	Seq   int64
}

// String names the position for logs.
func (p Position) String() string { return fmt.Sprintf("change %d of epoch %q", p.Seq, p.Epoch) }

// ChangeKind is the kind of a meeting's change.
type ChangeKind string

// The kinds of change.
const (
	ChangePart       ChangeKind = "part"       // the current version of Change.Part
	ChangeVisibility ChangeKind = "visibility" // who sees it
	ChangeGone       ChangeKind = "gone"       // it went, or came back; see Row.Gone
	ChangeMedia      ChangeKind = "media"      // a recording was attached or removed, or who may play it may have changed
	ChangeForgotten  ChangeKind = "forgotten"  // erased: followers erase it too
)

// Change is one entry of the log. It does not hold the new value.
type Change struct {
	Seq         int64
	RecordingID int64
	Kind        ChangeKind
	Part        api.Part // of ChangePart
	At          time.Time
}

// Head is the position of the last change. For a moment after a commit readers
// see more than it says, never less.
func (a *Archive) Head(context.Context) (Position, error) { return a.head.position() }

// Written is the position of the last change that readers see. A reader that
// finds it where it was before has read nothing newer.
func (a *Archive) Written(ctx context.Context) (Position, error) {
	p, err := a.head.position()
	if err != nil {
		return Position{}, err
	}
	p.Seq, err = lastSeq(ctx, a.db.R)
	return p, err
}

// Changes returns up to limit changes after a position, oldest first, and none
// beyond Head: a commit is seen before the head moves, and a follower must not
// stand where the log does not reach yet. It fails with ErrForeignEpoch when the
// position is of another epoch or beyond the log.
func (a *Archive) Changes(ctx context.Context, after Position, limit int) ([]Change, error) {
	head, err := a.Head(ctx)
	if err != nil {
		return nil, err
	}
	if after != (Position{}) && (after.Epoch != head.Epoch || after.Seq > head.Seq || after.Seq < 0) {
		return nil, fmt.Errorf("read changes after %v: %w, which ends at %v", after, ErrForeignEpoch, head)
	}
	if after == head { // the usual case of a follower, which needs no query
		return nil, nil
	}
	changes, err := sqlite.List(ctx, a.db.R, func(rows *sql.Rows, c *Change) error {
		var at int64
		if err := rows.Scan(&c.Seq, &c.RecordingID, &c.Kind, &c.Part, &at); err != nil {
			return err
		}
		c.At = sqlite.Time(at)
		return nil
	}, `SELECT seq, recording_id, kind, part, at FROM changes
		WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, after.Seq, head.Seq, limit)
	if err != nil {
		return nil, fmt.Errorf("read changes: %w", err)
	}
	return changes, nil
}

// PositionAt returns the position of the last change at or before a time.
func (a *Archive) PositionAt(ctx context.Context, at time.Time) (Position, error) {
	p, err := a.Head(ctx)
	if err != nil {
		return p, err
	}
	seqs, err := sqlite.Column[int64](ctx, a.db.R, `SELECT seq FROM changes WHERE at <= ? AND seq <= ? ORDER BY seq DESC LIMIT 1`, at.UnixMilli(), p.Seq)
	if err != nil {
		return p, fmt.Errorf("read changes: %w", err)
	}
	p.Seq = 0
	if len(seqs) > 0 {
		p.Seq = seqs[0]
	}
	return p, nil
}

// ChangesOf returns the changes of some meetings after a position of this epoch, by
// meeting, the oldest first.
func (a *Archive) ChangesOf(ctx context.Context, ids []int64, after Position) (map[int64][]Change, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	changes := map[int64][]Change{}
	err = sqlite.Each(ctx, a.db.R, func(rows *sql.Rows) error {
		var c Change
		var at int64
		err := rows.Scan(&c.Seq, &c.RecordingID, &c.Kind, &c.Part, &at)
		c.At = sqlite.Time(at)
		changes[c.RecordingID] = append(changes[c.RecordingID], c)
		return err
	}, `SELECT seq, recording_id, kind, part, at FROM changes WHERE seq > ? AND recording_id IN (SELECT value FROM json_each(?)) ORDER BY seq`, after.Seq, string(list))
	if err != nil {
		return nil, fmt.Errorf("read changes: %w", err)
	}
	return changes, nil
}

// WaitChange returns when the log has a change after the position, at once when
// the position is of another epoch, and with an error when ctx or the archive
// ends first.
func (a *Archive) WaitChange(ctx context.Context, after Position) error {
	return a.head.wait(ctx, after)
}

// changeLog is the log's head, kept in memory since this process is the only
// writer, and the bell that followers wait for.
type changeLog struct {
	mu     sync.Mutex // guards all fields
	head   Position
	bell   chan struct{} // closed and replaced at every change
	closed bool
}

func (l *changeLog) start(p Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head, l.bell = p, make(chan struct{})
}

// advance moves the head to seq after the commit that wrote it.
func (l *changeLog) advance(seq int64) Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq > l.head.Seq {
		l.head.Seq = seq
		close(l.bell)
		l.bell = make(chan struct{})
	}
	return l.head
}

func (l *changeLog) position() (Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return Position{}, ErrClosed
	}
	return l.head, nil
}

func (l *changeLog) wait(ctx context.Context, after Position) error {
	for {
		l.mu.Lock()
		head, bell, closed := l.head, l.bell, l.closed
		l.mu.Unlock()
		if closed {
			return ErrClosed
		}
		if head.Seq > after.Seq || after.Epoch != head.Epoch && after != (Position{}) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-bell:
		}
	}
}

func (l *changeLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bell != nil && !l.closed {
		close(l.bell)
	}
	l.closed = true
}

// lastSeq is the highest seq ever given, deleted changes included.
func lastSeq(ctx context.Context, db rowQuerier) (int64, error) {
	var seq int64
	err := db.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'`).Scan(&seq)
	if err != nil {
		return 0, fmt.Errorf("read head of the change log: %w", err)
	}
	return seq, nil
}

// logChange appends to the log within a transaction.
func logChange(ctx context.Context, tx *sql.Tx, id int64, kind ChangeKind, part api.Part, at time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO changes (recording_id, kind, part, at) VALUES (?, ?, ?, ?)`,
		id, kind, part, at.UnixMilli())
	if err != nil {
		return fmt.Errorf("log change: %w", err)
	}
	return nil
}

// change runs fn in one write transaction and, after its commit, moves the head
// of the change log and rings for the followers. Every exported method that
// logs changes goes through it.
func (a *Archive) change(ctx context.Context, fn func(*sql.Tx) error) (Position, error) {
	var seq int64
	err := a.db.WriteTx(ctx, func(tx *sql.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		var err error
		seq, err = lastSeq(ctx, tx)
		return err
	})
	if err != nil {
		return Position{}, err
	}
	return a.head.advance(seq), nil
}
