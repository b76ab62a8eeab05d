package httpserver

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// StreamBounds say how long a reader may hold an answer. They go by the time of the
// machine, as the connection does.
type StreamBounds struct {
	Stall   time.Duration // the longest time that the reader takes nothing
	Judge   time.Duration // between two looks at the reader's right; 0: none
	Grace   time.Duration // from when on Slowest counts
	Slowest int64         // bytes a second that the reader has to take on average; 0: no bound
}

// Stream is a long answer, such as a recording, whose reader has to keep reading it and
// to keep the right to it.
type Stream struct {
	http.ResponseWriter
	bounds  StreamBounds
	ctx     context.Context
	began   time.Time
	written int64
}

// errSlow: the reader of a Stream takes less than the bounds ask for.
var errSlow = errors.New("the answer is read too slowly")

// NewStream returns an answer that fails as soon as ctx ends, or may fails when it is
// asked again. It fails within a write that waits for its reader, too. The caller calls
// end when the answer is written.
func NewStream(ctx context.Context, w http.ResponseWriter, b StreamBounds, may func(context.Context) error) (s *Stream, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	s = &Stream{ResponseWriter: w, bounds: b, ctx: ctx, began: time.Now()}
	interrupted, judged := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // lets a waiting write fail at once
		defer close(interrupted)
		_ = s.until(time.Now())
	})
	go func() {
		defer close(judged)
		defer cancel()
		judge(ctx, b.Judge, may)
	}()
	return s, func() {
		if !stop() {
			<-interrupted
		}
		cancel()
		<-judged
	}
}

// judge returns when ctx ends or may fails.
func judge(ctx context.Context, interval time.Duration, may func(context.Context) error) {
	if interval == 0 {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if may(ctx) != nil {
				return
			}
		}
	}
}

// Write fails when the reader takes nothing for the time of Stall, takes less than
// Slowest, or has lost the right to the answer.
func (s *Stream) Write(b []byte) (int, error) {
	now := time.Now()
	if slowest := s.bounds.Slowest; slowest > 0 && now.Sub(s.began) > s.bounds.Grace+time.Duration(s.written/slowest)*time.Second {
		return 0, errSlow
	}
	_ = s.until(now.Add(s.bounds.Stall)) // not in tests without a connection
	if err := s.ctx.Err(); err != nil {  // after the deadline, which the end of ctx sets to now
		return 0, err
	}
	n, err := s.ResponseWriter.Write(b)
	s.written += int64(n)
	return n, err
}

func (s *Stream) until(at time.Time) error {
	return http.NewResponseController(s.ResponseWriter).SetWriteDeadline(at)
}
