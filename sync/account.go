package syncer

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// account is an [Account] with its state in this process.
type account struct {
	Account
	lists        []listQuery
	jobLocks     map[string]chan struct{} // by job: full while it runs
	life         context.Context          // ends when the account is not read any more
	leave        context.CancelFunc       // ends life
	judged       chan struct{}            // gets a value when the account is suspended, and when it is accepted again
	accepted     chan struct{}            // gets a value when the account is no longer suspended
	mustPoll     atomic.Bool              // the service refused the callback address, so downloads are polled
	requestSlots *prioritySemaphore       // for requests of recordings: if more of them waited, they would crowd out the walks
	// takesAddress: the service has taken a callback address.
	takesAddress atomic.Bool

	refusals atomic.Int64  // answers that refused something, counted
	checking chan struct{} // full while the fields below are in use
	checked  time.Time     // when the last check of refusals began
	cleared  int64         // as many refusals were answered before a check that the service accepted

	mu        sync.Mutex // guards the fields below
	suspended *suspension
	usable    time.Time            // when it became an account that may be read
	runs      map[string]*runStats // of the jobs that run now
}

// showProgress makes the progress of a job part of the account's status until hide is
// called.
func (a *account) showProgress(job string, t *runStats) (hide func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs[job] = t
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.runs, job)
	}
}

// run returns the counts of a job that runs now, nil for another one.
func (a *account) run(job string) *runStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[job]
}

// newAccount prepares an account that is not suspended.
func newAccount(a Account, locks map[string]chan struct{}, now time.Time) *account {
	acc := &account{Account: a, usable: now, lists: listQueries(a.RecordedBy, a.Teams), requestSlots: newPrioritySemaphore(2), jobLocks: locks, runs: map[string]*runStats{}, judged: make(chan struct{}, 1), accepted: make(chan struct{}, 1), checking: make(chan struct{}, 1)}
	acc.life, acc.leave = context.WithCancel(context.Background())
	return acc
}

// newJobLocks returns the locks of an account that runs no job.
func newJobLocks() map[string]chan struct{} {
	locks := map[string]chan struct{}{}
	for _, job := range []string{JobCatchUp, JobBackfill, JobWalk, JobRefresh, JobDirectory, jobContent} {
		locks[job] = make(chan struct{}, 1)
	}
	return locks
}

// markKey returns the key of this account's mark under a prefix.
func (a *account) markKey(prefix string) string { return prefix + "/" + url.PathEscape(a.Name) }

// acquireJob waits until the job does not run for this account, and then holds
// it. The caller calls leave when its run ends.
func (a *account) acquireJob(ctx context.Context, job string) (leave func(), err error) {
	gate := a.jobLocks[job]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tryAcquireJob is acquireJob without waiting; ok is false while the job runs.
func (a *account) tryAcquireJob(job string) (leave func(), ok bool) {
	gate := a.jobLocks[job]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, true
	default:
		return nil, false
	}
}

// enterJob is acquireJob where wait is set. Otherwise leave is nil while the job runs.
func (a *account) enterJob(ctx context.Context, job string, wait bool) (leave func(), err error) {
	if leave, ok := a.tryAcquireJob(job); ok || !wait {
		return leave, nil
	}
	return a.acquireJob(ctx, job)
}

// isRunning reports whether the job runs for this account.
func (a *account) isRunning(job string) bool { return len(a.jobLocks[job]) > 0 }
