package syncer

import (
	"context"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// eventEvery is how often a run says how far it is.
const eventInterval = time.Second

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
func (s *Syncer) reportProgress(ctx context.Context, accounts []*account, t *runStats, fn func(Event)) {
	tick := time.NewTicker(eventInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fn(s.progressEvent(ctx, accounts, t))
		}
	}
}

// event describes a run as it is now.
func (s *Syncer) progressEvent(ctx context.Context, accounts []*account, t *runStats) Event {
	n, now := t.snapshot(), s.now()
	e := Event{At: now, Doing: n.Job, Found: n.Found, Kept: n.Kept, Pages: n.Pages, Content: n.Content,
		Recordings: n.Recordings, Bytes: n.Bytes, Calls: map[api.Class]Calls{}}
	for _, a := range accounts {
		_, due, _, _ := s.content.status(a.Name, now)
		e.ToDo += due
		if err := a.Client.Repeated(); err != nil {
			e.Trouble = err.Error()
		}
		for _, u := range a.Client.Budget().Snapshot() {
			c := e.Calls[u.Class]
			e.Calls[u.Class] = Calls{Used: c.Used + u.Used, Limit: c.Limit + u.Limit, Waiting: c.Waiting + u.Waiting}
		}
	}
	e.Left = estimateLeft(n, e, now).Seconds()
	if n.Media {
		if counts, err := s.archive.DownloadCounts(ctx); err == nil {
			open := counts[archive.DownloadWanted] + counts[archive.DownloadRequested] + counts[archive.DownloadReady]
			e.ToDo += open
			e.Left = max(e.Left, s.downloads.pace.estimate(open).Seconds())
		}
	}
	return e
}

// left guesses how long a run takes from the windows that are over, and from
// the contents to be read at two heavy calls each.
func estimateLeft(n runCounts, e Event, now time.Time) time.Duration {
	var d time.Duration
	if n.WindowsDone > 0 && n.WindowsDone < n.Windows {
		d = now.Sub(n.Began) / time.Duration(n.WindowsDone) * time.Duration(n.Windows-n.WindowsDone)
	}
	if heavy := e.Calls[api.ClassHeavy].Limit; heavy > 0 {
		d = max(d, time.Duration(2*e.ToDo)*time.Minute/time.Duration(heavy))
	}
	return d
}
