package service

import (
	"context"
	"sync"
)

// sendings are the attempts under way, so that forgetting a meeting ends those
// that carry it: what was read of the queue before is not sent afterwards.
type sendings struct {
	mu   sync.Mutex // guards what follows
	open map[*sending]bool
}

// sending is one attempt.
type sending struct {
	recordingID int64
	cancel      func()
	ended       chan struct{}
}

// begin notes an attempt until end is called. stop ends its context.
func (l *sendings) begin(ctx context.Context, recordingID int64) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	one := &sending{recordingID, cancel, make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*sending]bool{}
	}
	l.open[one] = true
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, one)
		close(one.ended)
	}
}

// stop ends the attempts about a recording and waits for them.
func (l *sendings) stop(ctx context.Context, recordingID int64) error {
	l.mu.Lock()
	var stopped []*sending
	for one := range l.open {
		if one.recordingID == recordingID {
			one.cancel()
			stopped = append(stopped, one)
		}
	}
	l.mu.Unlock()
	for _, one := range stopped {
		select {
		case <-one.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
