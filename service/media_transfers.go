package service

import (
	"context"
	"sync"
)

// transfers are the meetings' contents on their way out, attempts and media, so
// that forgetting a meeting ends those that carry it.
type transfers struct {
	mu   sync.Mutex // guards open
	open map[*transfer]bool
}

// transfer is one attempt, or one answer with media.
type transfer struct {
	recordingID int64
	cancel      func()
	ended       chan struct{}
}

// begin registers a transfer until end is called. stop ends its context.
func (l *transfers) begin(ctx context.Context, recordingID int64) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	t := &transfer{recordingID, cancel, make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*transfer]bool{}
	}
	l.open[t] = true
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, t)
		close(t.ended)
	}
}

// stop ends the transfers of a recording and waits for them.
func (l *transfers) stop(ctx context.Context, recordingID int64) error {
	l.mu.Lock()
	var stopped []*transfer
	for t := range l.open {
		if t.recordingID == recordingID {
			t.cancel()
			stopped = append(stopped, t)
		}
	}
	l.mu.Unlock()
	for _, t := range stopped {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
