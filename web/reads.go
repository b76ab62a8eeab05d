package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"minutebook/archive"
	"minutebook/web/access"
)

// playEvery is how long the requests of a player count as one playing: it asks for a
// recording in many pieces, in any order.
const playEvery = time.Hour

// reads records who read which meeting, where the configuration asks for that.
type reads struct {
	audit *access.DB // nil: nothing is recorded
	now   func() time.Time

	mu     sync.Mutex
	played map[played]time.Time // when it was last recorded
}

type played struct {
	actor   access.Actor
	meeting int64
}

// recordRead records that the visitor read a meeting. It fails when the record cannot
// be written: a meeting is not shown without it.
func (s *server) recordRead(ctx context.Context, kind access.EventKind, id int64) error {
	if s.reads.audit == nil {
		return nil
	}
	event := access.Event{Actor: visitorOf(ctx).Actor(), Kind: kind, IDs: access.IDs{Meeting: id}}
	if kind == access.MeetingPlayed {
		return s.reads.recordPlaying(ctx, event)
	}
	return s.reads.audit.Record(ctx, event)
}

// openMeeting is visibleRow for a request that shows content of the meeting, which is
// recorded.
func (s *server) openMeeting(r *http.Request, id int64) (*archive.Row, error) {
	row, err := s.visibleRow(r.Context(), id)
	if err == nil {
		err = s.recordRead(r.Context(), access.MeetingOpened, id)
	}
	return row, err
}

// recordPlaying records the first request of a playing. A request that ends before its
// record is written counts as none: the next one is recorded.
func (p *reads) recordPlaying(ctx context.Context, e access.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, playing := p.now(), played{e.Actor, e.IDs.Meeting}
	if last, ok := p.played[playing]; ok && now.Sub(last).Abs() < playEvery {
		return nil
	}
	if err := p.audit.Record(ctx, e); err != nil {
		return err
	}
	for other, last := range p.played {
		if now.Sub(last).Abs() >= playEvery {
			delete(p.played, other)
		}
	}
	p.played[playing] = now
	return nil
}
