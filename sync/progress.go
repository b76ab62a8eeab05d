package syncer

import (
	"context"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// eventInterval is how often a run reports its progress.
const eventInterval = time.Second

// Event is the progress of a run of [Syncer.Sync]. Its numbers count this run,
// but those in Calls count the last minute of all runs.
type Event struct {
	At         time.Time           `json:"at"`
	Doing      string              `json:"doing"`
	Found      int                 `json:"found"`                  // meetings listed
	Kept       int                 `json:"kept"`                   // of these, new to the archive
	ToDo       int                 `json:"to_do"`                  // content tasks and recordings that are due
	Pages      int                 `json:"pages"`                  // of lists
	Content    int                 `json:"content"`                // transcripts and summaries read one by one
	Recordings int                 `json:"recordings"`             // fetched completely
	Bytes      int64               `json:"bytes"`                  // of recordings
	Calls      map[api.Class]Calls `json:"calls"`                  // by class, over all accounts of the run
	Left       float64             `json:"left_seconds,omitempty"` // estimated; 0: not known
	Trouble    string              `json:"trouble,omitempty"`      // why a call is repeated
	Done       bool                `json:"done"`
	Error      string              `json:"error,omitempty"`
}

// Calls are the calls of one class in the last minute, beside its limit.
type Calls struct {
	Used    int `json:"used"`
	Limit   int `json:"limit"`
	Waiting int `json:"waiting"`
	// Blocked is the time before which the service refuses calls of an account, the latest of them.
	Blocked        time.Time `json:"blocked,omitzero"`
	BlockedAccount string    `json:"blocked_account,omitempty"` // the account of that time
}

// reportProgress calls fn with the run's progress every second until ctx ends.
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

// progressEvent returns the run's present progress.
func (s *Syncer) progressEvent(ctx context.Context, accounts []*account, t *runStats) Event {
	n, now := t.snapshot(), s.now()
	e := Event{At: now, Doing: n.Job, Found: n.Found, Kept: n.Kept, Pages: n.Pages, Content: n.Content,
		Recordings: n.Recordings, Bytes: n.Bytes, Calls: map[api.Class]Calls{}}
	for _, a := range accounts {
		_, due, _, _ := s.content.status(a.Name, now)
		e.ToDo += due
		if p := a.suspension(); p != nil {
			e.Trouble = "account " + a.Name + " is parked: " + p.Reason
		} else if err := a.Client.Repeated(); err != nil {
			e.Trouble = err.Error()
		}
		used, err := a.Client.Usage(ctx)
		if err != nil {
			e.Trouble = err.Error()
		}
		for _, u := range used {
			c := e.Calls[u.Class]
			if u.Blocked.After(c.Blocked) {
				c.Blocked, c.BlockedAccount = u.Blocked, a.Name
			}
			c.Used, c.Limit, c.Waiting = c.Used+u.Used, c.Limit+u.Limit, c.Waiting+u.Waiting
			e.Calls[u.Class] = c
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

// estimateLeft estimates the remaining time of a run from its finished windows,
// and from the content tasks at two heavy calls each.
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
