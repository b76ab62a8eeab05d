package syncer

import (
	"context"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/inbox"
)

// Status describes the sync, for `minutebook status`.
type Status struct {
	Accounts  []AccountStatus `json:"accounts"`
	Inbox     inbox.Counts    `json:"inbox"`
	Downloads DownloadStatus  `json:"downloads"`
	Failures  []FailureStatus `json:"failures"` // the first open ones; see openFailures
	Problems  []string        `json:"problems"` // parts that do not work at present, and why
	// Clock compares the clocks; absent before this process has read a list.
	Clock *ClockStatus `json:"clock,omitempty"`
}

// ClockStatus compares this machine's clock with the service's, at an answer.
type ClockStatus struct {
	At           time.Time `json:"at"`            // by this machine's clock
	AheadSeconds float64   `json:"ahead_seconds"` // of the service's clock; negative: behind it
}

// AccountStatus is the state of one account.
type AccountStatus struct {
	Name string `json:"name"`
	// Suspended says why the service refuses the account, empty when it does not.
	Suspended      string    `json:"suspended,omitempty"`
	SuspendedSince time.Time `json:"suspended_since,omitzero"`
	// UsableSince is when this process could first read the account, or could again.
	UsableSince time.Time `json:"-"`
	// LastSuccess is when the last successful run of each job began, NextRun its next
	// time by the schedule.
	LastSuccess map[string]time.Time `json:"last_success"`
	NextRun     map[string]time.Time `json:"next_run"`
	Running     []string             `json:"running,omitempty"` // the jobs that run now
	Backfilled  bool                 `json:"backfilled"`        // the full history has been read
	// Reading is the progress of the backfill while it runs.
	Reading *Event `json:"reading,omitempty"`
	// Coverage counts the meetings that the account sees, and their parts. Status leaves it
	// to those who want it: it takes longer than all the rest.
	Coverage archive.Coverage `json:"coverage"`
	// ContentTasks counts the meetings whose transcript or summary is still to be
	// read, ContentTasksDue those that are due now; NextContentTask is when the next
	// one is due.
	ContentTasks    int         `json:"content_tasks"`
	ContentTasksDue int         `json:"content_tasks_due"`
	NextContentTask time.Time   `json:"next_content_task,omitzero"`
	Budget          []api.Usage `json:"budget"`
	// OpenFailures counts the open failures; Failures are the first of them.
	OpenFailures int             `json:"open_failures"`
	Failures     []FailureStatus `json:"failures"`
}

// DownloadStatus is the state of the queue of recordings.
type DownloadStatus struct {
	Queue  map[archive.DownloadState]int `json:"queue"`
	Lapsed int                           `json:"lapsed"`           // not here yet, and a link to it expired
	Rate   float64                       `json:"bytes_per_second"` // measured; 0: not yet
	Left   float64                       `json:"left_seconds"`     // estimated; 0: not known
	Paused string                        `json:"paused,omitempty"` // why no download is started
}

// FailureStatus is an open entry of the failure ledger.
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

// Status reads the state of the sync, beside Run or without it.
func (s *Syncer) Status(ctx context.Context) (Status, error) {
	st := Status{Accounts: []AccountStatus{}, Failures: []FailureStatus{}}
	if err := s.content.load(ctx, s.archive); err != nil {
		return st, err
	}
	var err error
	if st.Inbox, err = s.archive.Inbox().Counts(ctx); err != nil {
		return st, err
	}
	if st.Downloads, err = s.downloads.status(ctx); err != nil {
		return st, err
	}
	failures, err := s.openFailures(ctx)
	if err != nil {
		return st, err
	}
	st.Failures = append(st.Failures, failures[:min(len(failures), maxFailures)]...)
	list, _ := s.accounts.all()
	for _, a := range list {
		as, err := s.accountStatus(ctx, a)
		if err != nil {
			return st, err
		}
		as.addFailures(failures)
		st.Accounts = append(st.Accounts, as)
	}
	st.Problems = append([]string{}, s.problems.list()...)
	st.Clock = s.clock.Load()
	return st, nil
}
