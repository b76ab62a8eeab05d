package syncer

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
)

// retryParked is how often a parked account is tried again, with one cheap call.
// errParked is returned by work on an account that the service refuses.
// parking says why an account is not used, and since when.
// account is an Account with its state in this process.
type account struct {
	Account
	lists    []listQuery
	jobLocks map[string]chan struct{} // by job: held while it runs
	mustPoll atomic.Bool              // the service takes no callback address: downloads are polled

	mu        sync.Mutex // guards what follows
	suspended *suspension
}

func newAccount(a Account) *account {
	acc := &account{Account: a, lists: listQueries(a.RecordedBy, a.Teams), jobLocks: map[string]chan struct{}{}}
	for _, job := range []string{JobCatchUp, JobBackfill, JobWalk, JobRefresh, JobDirectory, jobContent} {
		acc.jobLocks[job] = make(chan struct{}, 1)
	}
	return acc
}

// mark is the key of a mark of this account under a prefix.
func (a *account) markKey(prefix string) string { return prefix + "/" + url.PathEscape(a.Name) }

// enter waits until no other run of the job goes on and returns the way out.
func (a *account) acquireJob(ctx context.Context, job string) (leave func(), err error) {
	gate := a.jobLocks[job]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tryEnter is enter without waiting.
func (a *account) tryAcquireJob(job string) (leave func(), ok bool) {
	gate := a.jobLocks[job]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, true
	default:
		return nil, false
	}
}

// running tells whether a run of the job goes on.
func (a *account) isRunning(job string) bool { return len(a.jobLocks[job]) > 0 }

// judge looks at the error of a call of the account: one that says that the
// credential is refused parks the account, once and in the archive. It returns
// the error, wrapped.
// saveParking writes or, with nil, removes the mark of a parked account.
// usable returns nil when the account may be used. A parked one is tried with
// one cheap call when force is set or the last try is an hour old, or as soon as
// it is connected where that was missing.
// pauseParked waits until a parked account may be tried again: for an hour, or
// until somebody has connected it or a command has found it accepted.
// loadParking reads which accounts were parked when the last process ended.
