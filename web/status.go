package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"minutebook/archive"
	"minutebook/search"
	syncer "minutebook/sync"

	"github.com/dustin/go-humanize"
)

// statusPage is the state of the archive and of the synchronisation.
type statusPage struct {
	frame
	Counts   archive.Counts
	Progress search.Progress
	Failures []failureView
	Hold     *archive.RetentionHold // nil unless a retention rule needs a look
	Sync     *syncer.Status         // nil without a daemon
	Accounts []accountView
	Queue    []queueView
	Rate     string          // of the downloads
	Left     string          // until the last one
	Admin    bool            // the visitor sees the operations
	MayFetch bool            // recordings can be fetched again
	MayRun   bool            // jobs can be run from here
	Work     *operationsJSON // nil unless the visitor is an admin
	now      time.Time
}

// Late reports whether a next time has passed: the work waits for other work.
func (p statusPage) Late(next time.Time) bool { return !next.IsZero() && next.Before(p.now) }

// accountView is an account with its jobs.
type accountView struct {
	syncer.AccountStatus
	Jobs []jobView
}

type jobView struct {
	Key, Name  string
	Last, Next time.Time
	Running    bool
}

// failureView is a failure, and whether it is being retried. Same are the further ones of
// the same class, account and reason.
type failureView struct {
	archive.Failure
	Running bool
	Same    []failureView
}

// groupFailures puts failures with one reason together, under the first of them.
func groupFailures(all []failureView) (groups []failureView) {
	for _, f := range all {
		i := slices.IndexFunc(groups, func(g failureView) bool {
			return g.Class == f.Class && g.Account == f.Account && g.Reason == f.Reason && f.Class != "job"
		})
		if i < 0 {
			groups = append(groups, f)
			continue
		}
		groups[i].Same = append(groups[i].Same, f)
	}
	return groups
}

// queueView counts the recordings in one state.
type queueView struct {
	Label string
	Count int
}

// jobNames are the labels of the jobs in the order of the page.
var jobNames = []struct{ key, name string }{
	{syncer.JobCatchUp, "New meetings"}, {syncer.JobBackfill, "Full history"}, {syncer.JobWalk, "Edits and shares"},
	{syncer.JobRefresh, "Content again"}, {syncer.JobDirectory, "Teams and people"},
}

// queueNames are the states of a download in their order.
var queueNames = []struct {
	state archive.DownloadState
	label string
}{
	{archive.DownloadDone, "on disk"}, {archive.DownloadReady, "being fetched"}, {archive.DownloadRequested, "in preparation"},
	{archive.DownloadWanted, "waiting"}, {archive.DownloadRefused, "refused"}, {archive.DownloadNone, "without a recording"},
	{archive.DownloadDeleted, "deleted by retention rules"},
}

// status answers /status, and /status?banner with the banner alone.
func (s *server) status(w http.ResponseWriter, r *http.Request) error {
	ctx, frame := r.Context(), s.newFrame(r, "status", "Status")
	if r.URL.Query().Has("banner") {
		return s.renderPart(w, http.StatusOK, "status", "banner", frame)
	}
	p := statusPage{frame: frame, Progress: s.Index.Progress(), Admin: visitorOf(ctx).Admin, now: s.Now()}
	state, err := s.visibleState(ctx, !isHead(ctx))
	if err != nil {
		return err
	}
	if p.Counts, err = s.Archive.CountsFor(ctx, viewerOf(ctx)); err != nil {
		return err
	}
	if p.Failures, err = s.visibleFailures(ctx); err != nil {
		return err
	}
	if state != nil {
		p.Sync = &state.Status
		p.setSync()
		if h := state.Retention; h != nil && (h.Waiting || h.Moved != nil || h.UnknownNames != nil) {
			p.Hold = h
		}
	}
	p.Failures = groupFailures(p.Failures)
	if p.Admin {
		p.MayRun, p.MayFetch = s.Run != nil, s.Fetch != nil
		if state == nil {
			state = &daemonState{}
		}
		if p.Work, err = s.readOperations(ctx, state); err != nil {
			return err
		}
	}
	return s.render(w, http.StatusOK, "status", p)
}

// setSync sets the fields of the accounts and the downloads.
func (p *statusPage) setSync() {
	for _, a := range p.Sync.Accounts {
		v := accountView{AccountStatus: a}
		for _, j := range jobNames {
			if last, next := a.LastSuccess[j.key], a.NextRun[j.key]; !last.IsZero() || !next.IsZero() {
				v.Jobs = append(v.Jobs, jobView{j.key, j.name, last, next, slices.Contains(a.Running, j.key)})
			}
		}
		v.Budget = slices.Clone(a.Budget)
		p.Accounts = append(p.Accounts, v)
	}
	for _, f := range p.Sync.Failures {
		for i, shown := range p.Failures {
			if f.Running && f.Account == shown.Account && f.Class == shown.Class && f.What == shown.What {
				p.Failures[i].Running = true
			}
		}
	}
	d := p.Sync.Downloads
	for _, q := range queueNames {
		if n := d.Queue[q.state]; n > 0 {
			p.Queue = append(p.Queue, queueView{q.label, n})
		}
	}
	if d.Rate > 0 && d.Left >= 1 {
		p.Rate = humanize.Bytes(uint64(d.Rate)) + "/s"
		p.Left = formatMinutes(time.Duration(d.Left * float64(time.Second)))
	}
}

// statusJSON is the state of the archive in the JSON interface. Operations are for admins.
type statusJSON struct {
	Meetings       int                    `json:"meetings"`
	WithTranscript int                    `json:"with_transcript"`
	WithSummary    int                    `json:"with_summary"`
	WithRecording  int                    `json:"with_recording"`
	Gone           int                    `json:"gone"`
	NotWatched     int                    `json:"not_watched"`
	Rebuilding     bool                   `json:"rebuilding"`
	Accounts       []syncer.AccountStatus `json:"accounts"`
	Failures       []syncer.FailureStatus `json:"failures"`
	Operations     *operationsJSON        `json:"operations,omitempty"`
}

// apiStatus answers with the counts of the visible meetings and the state of the
// visitor's accounts, or, for an admin, of all.
func (s *server) apiStatus(w http.ResponseWriter, r *http.Request) error {
	out, err := s.readStatus(r.Context())
	if err != nil {
		return err
	}
	return answerJSON(w, r, out)
}

// readStatus returns the status for the visitor.
func (s *server) readStatus(ctx context.Context) (out statusJSON, err error) {
	c, err := s.Archive.CountsFor(ctx, viewerOf(ctx))
	if err != nil {
		return out, err
	}
	out = statusJSON{Meetings: c.Meetings, WithTranscript: c.WithTranscript, WithSummary: c.WithSummary, WithRecording: c.WithRecording,
		Gone: c.Gone, NotWatched: c.NotWatched, Rebuilding: s.Index.Progress().Rebuilding,
		Accounts: []syncer.AccountStatus{}, Failures: []syncer.FailureStatus{}}
	state, err := s.visibleState(ctx, false)
	if err != nil {
		return out, err
	}
	if state == nil {
		state = &daemonState{}
	}
	out.Accounts, out.Failures = append(out.Accounts, state.Accounts...), append(out.Failures, state.Failures...)
	if visitorOf(ctx).Admin {
		out.Operations, err = s.readOperations(ctx, state)
	}
	return out, err
}
