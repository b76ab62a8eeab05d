package web

import (
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
func (s *server) recordRead(r *http.Request, kind access.EventKind, id int64) error {
	actor := visitorOf(r.Context()).Actor()
	if s.reads.audit == nil || kind == access.MeetingPlayed && !s.reads.begin(played{actor, id}) {
		return nil
	}
	return s.reads.audit.Record(r.Context(), access.Event{Actor: actor, Kind: kind, IDs: access.IDs{Meeting: id}})
}

// openMeeting is visibleRow for a request that shows content of the meeting, which is
// recorded.
func (s *server) openMeeting(r *http.Request, id int64) (*archive.Row, error) {
	row, err := s.visibleRow(r.Context(), id)
	if err == nil {
		err = s.recordRead(r, access.MeetingOpened, id)
	}
	return row, err
}

// begin reports whether a request is the first one of a playing.
func (p *reads) begin(what played) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if last, ok := p.played[what]; ok && now.Sub(last).Abs() < playEvery {
		return false
	}
	for other, last := range p.played {
		if now.Sub(last).Abs() >= playEvery {
			delete(p.played, other)
		}
	}
	p.played[what] = now
	return true
}
