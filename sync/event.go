package syncer

import (
	"context"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// eventEvery is how often a run says how far it is.
const eventEvery = time.Second

// Event is how far a run of Sync has come. All numbers are of this run, but for
// those in Calls, which are of the connections' last minute.
type Event struct {
	At         time.Time           `json:"at"`
	Doing      string              `json:"doing"`
	Found      int                 `json:"found"`                  // meetings listed
	Kept       int                 `json:"kept"`                   // of these, new to the archive
	ToDo       int                 `json:"to_do"`                  // contents and recordings that are due
	Pages      int                 `json:"pages"`                  // of lists
	Content    int                 `json:"content"`                // transcripts and summaries read by themselves
	Recordings int                 `json:"recordings"`             // fetched whole
	Bytes      int64               `json:"bytes"`                  // of recordings
	Calls      map[api.Class]Calls `json:"calls"`                  // by class, over all accounts of the run
	Left       float64             `json:"left_seconds,omitempty"` // estimated; 0: not known
	Trouble    string              `json:"trouble,omitempty"`      // why a call is being repeated
	Done       bool                `json:"done"`
	Error      string              `json:"error,omitempty"`
}

// Calls are the calls of a class in the last minute against its limit.
type Calls struct {
	Used    int `json:"used"`
	Limit   int `json:"limit"`
	Waiting int `json:"waiting"`
}

// report calls fn with the state of a run every second until ctx ends.
func (s *Syncer) report(ctx context.Context, accounts []*account, t *tally, fn func(Event)) {
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fn(s.event(ctx, accounts, t))
		}
	}
}

// event describes a run as it is now.
func (s *Syncer) event(ctx context.Context, accounts []*account, t *tally) Event {
	n, now := t.read(), s.now()
	e := Event{At: now, Doing: n.Doing, Found: n.Found, Kept: n.Kept, Pages: n.Pages, Content: n.Content,
		Recordings: n.Recordings, Bytes: n.Bytes, Calls: map[api.Class]Calls{}}
	for _, a := range accounts {
		_, due, _, _ := s.asks.state(a.Name, now)
		e.ToDo += due
		if err := a.Client.Repeated(); err != nil {
			e.Trouble = err.Error()
		}
		for _, u := range a.Client.Budget().Snapshot() {
			c := e.Calls[u.Class]
			e.Calls[u.Class] = Calls{Used: c.Used + u.Used, Limit: c.Limit + u.Limit, Waiting: c.Waiting + u.Waiting}
		}
	}
	e.Left = left(n, e, now).Seconds()
	if n.Media {
		if counts, err := s.archive.DownloadCounts(ctx); err == nil {
			open := counts[archive.DownloadWanted] + counts[archive.DownloadRequested] + counts[archive.DownloadReady]
			e.ToDo += open
			e.Left = max(e.Left, s.loader.pace.estimate(open).Seconds())
		}
	}
	return e
}

// left guesses how long a run takes from the windows that are over, and from
// the contents to be read at two heavy calls each.
func left(n counts, e Event, now time.Time) time.Duration {
	var d time.Duration
	if n.Over > 0 && n.Over < n.Windows {
		d = now.Sub(n.Began) / time.Duration(n.Over) * time.Duration(n.Windows-n.Over)
	}
	if heavy := e.Calls[api.ClassHeavy].Limit; heavy > 0 {
		d = max(d, time.Duration(2*e.ToDo)*time.Minute/time.Duration(heavy))
	}
	return d
}
