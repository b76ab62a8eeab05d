package syncer

import (
	"context"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// Status is what `minutebook status` tells of the sync.
type Status struct {
	Accounts  []AccountStatus     `json:"accounts"`
	Inbox     archive.InboxCounts `json:"inbox"`
	Downloads DownloadStatus      `json:"downloads"`
	Failures  []FailureStatus     `json:"failures"` // open ones, latest first
	Troubles  []string            `json:"troubles"` // what is paused right now, and why
}

// AccountStatus is the state of one account.
type AccountStatus struct {
	Name string `json:"name"`
	// Parked says why the service refuses the account; empty when it does not.
	Parked      string    `json:"parked,omitempty"`
	ParkedSince time.Time `json:"parked_since,omitzero"`
	// LastSuccess is when the last successful run of each job began; NextRun when
	// the schedule has it next.
	LastSuccess map[string]time.Time `json:"last_success"`
	NextRun     map[string]time.Time `json:"next_run"`
	Running     []string             `json:"running,omitempty"` // the jobs that run now
	Backfilled  bool                 `json:"backfilled"`        // the full history has been read
	// Coverage is how much is kept of what the account sees.
	Coverage archive.Coverage `json:"coverage"`
	// Asks is how many transcripts and summaries are still to be read, AsksDue how
	// many of them now, and NextAsk when the next one is.
	Asks    int         `json:"asks"`
	AsksDue int         `json:"asks_due"`
	NextAsk time.Time   `json:"next_ask,omitzero"`
	Budget  []api.Usage `json:"budget"`
	// OpenFailures is how many failures are open, Failures the latest of them.
	OpenFailures int             `json:"open_failures"`
	Failures     []FailureStatus `json:"failures"`
}

// DownloadStatus is the state of the queue of recordings.
type DownloadStatus struct {
	Queue  map[archive.DownloadState]int `json:"queue"`
	Rate   float64                       `json:"bytes_per_second"` // measured; 0: not yet
	Left   float64                       `json:"left_seconds"`     // estimated; 0: not known
	Paused string                        `json:"paused,omitempty"` // why no download is started
}

// FailureStatus is a line of the ledger that is open.
type FailureStatus struct {
	Account     string    `json:"account"`
	Class       string    `json:"class"`
	What        string    `json:"what"`
	RecordingID int64     `json:"recording_id,omitempty"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Tries       int       `json:"tries"`
	Reason      string    `json:"reason"`
	NextTry     time.Time `json:"next_try,omitzero"`
	Running     bool      `json:"running,omitempty"` // it is being tried again
}

// maxFailures is how many failures Status lists, and ofAccount how many of one
// account.
const (
	maxFailures = 100
	ofAccount   = 20
)

// Status reads the state of the sync. It works beside Run and without it.
func (s *Syncer) Status(ctx context.Context) (Status, error) {
	st := Status{Accounts: []AccountStatus{}, Failures: []FailureStatus{}}
	if err := s.asks.load(ctx, s.archive); err != nil {
		return st, err
	}
	var err error
	if st.Inbox, err = s.archive.Inbox().Counts(ctx); err != nil {
		return st, err
	}
	if st.Downloads, err = s.loader.status(ctx); err != nil {
		return st, err
	}
	failures, err := s.failures(ctx)
	if err != nil {
		return st, err
	}
	st.Failures = append(st.Failures, failures[:min(len(failures), maxFailures)]...)
	coverage, err := s.archive.Coverage(ctx)
	if err != nil {
		return st, err
	}
	for _, a := range s.accounts {
		as, err := s.accountStatus(ctx, a)
		if err != nil {
			return st, err
		}
		as.Coverage = coverage[a.Name]
		as.took(failures)
		st.Accounts = append(st.Accounts, as)
	}
	st.Troubles = append([]string{}, s.troubles.list()...)
	return st, nil
}

// failures are all that are open, latest first.
func (s *Syncer) failures(ctx context.Context) ([]FailureStatus, error) {
	open, err := s.archive.Failures(ctx, true)
	if err != nil {
		return nil, err
	}
	list := make([]FailureStatus, len(open))
	for i, f := range open {
		list[i] = FailureStatus{Account: f.Account, Class: f.Class, What: f.What,
			RecordingID: f.RecordingID, First: f.First, Last: f.Last, Tries: f.Tries, Reason: f.Reason, NextTry: f.NextTry}
		if a := s.account(f.Account); a != nil && f.Class == classJob {
			list[i].Running = a.running(f.What)
		}
	}
	return list, nil
}

// took sets the failures of the account.
func (as *AccountStatus) took(failures []FailureStatus) {
	as.Failures = []FailureStatus{}
	for _, f := range failures {
		if f.Account != as.Name {
			continue
		}
		if as.OpenFailures++; as.OpenFailures <= ofAccount {
			as.Failures = append(as.Failures, f)
		}
	}
}

func (s *Syncer) accountStatus(ctx context.Context, a *account) (AccountStatus, error) {
	if err := a.Client.Budget().Load(ctx); err != nil { // what an earlier process used
		return AccountStatus{}, err
	}
	as := AccountStatus{Name: a.Name, LastSuccess: map[string]time.Time{}, NextRun: map[string]time.Time{},
		Budget: a.Client.Budget().Snapshot()}
	if a.parking() == nil {
		if err := s.loadParking(ctx); err != nil {
			return as, err
		}
	}
	if p := a.parking(); p != nil {
		as.Parked, as.ParkedSince = p.Reason, p.Since
	}
	for _, job := range []string{JobCatchUp, JobBackfill, JobWalk, JobRefresh, JobDirectory} {
		at, err := s.ran(ctx, a, job)
		if err != nil {
			return as, err
		}
		if !at.IsZero() {
			as.LastSuccess[job] = at
		}
		if a.running(job) {
			as.Running = append(as.Running, job)
		}
	}
	now := s.now()
	for _, table := range s.tables {
		as.NextRun[table.job] = table.cron.Next(now)
	}
	as.Asks, as.AsksDue, as.NextAsk, _ = s.asks.state(a.Name, now)
	var err error
	as.Backfilled, err = s.backfilled(ctx, a)
	return as, err
}
