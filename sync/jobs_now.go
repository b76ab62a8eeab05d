package syncer

import (
	"context"
	"fmt"
	"slices"

	"minutebook/api"
)

// CheckJob fails unless the account is read and has the job.
func (s *Syncer) CheckJob(account, job string) error {
	if !slices.Contains([]string{JobCatchUp, JobBackfill, JobWalk, JobRefresh, JobDirectory}, job) {
		return fmt.Errorf("run %s now: there is no such job", job)
	}
	if s.account(account) == nil {
		return fmt.Errorf("run %s now: no account is named %s", job, account)
	}
	return nil
}

// RunJob runs a job of an account now, whatever the schedule says, and returns when it
// ended. While the job runs already it returns at once. An account that the service
// refuses is tried again first, and lists of the directory that it refused are asked for.
func (s *Syncer) RunJob(ctx context.Context, account, job string) error {
	if err := s.CheckJob(account, job); err != nil {
		return err
	}
	a := s.account(account)
	if a == nil {
		return errLeft // since the check
	}
	ctx = withPersonPriority(api.WithOrder(ctx, s.archive.NextOrder))
	if err := s.checkUsable(ctx, a, true); err != nil {
		return err
	}
	if job == JobDirectory {
		if err := s.forgetRefusedLists(ctx, a); err != nil {
			return err
		}
	}
	return s.runJob(ctx, a, job, false, nil)
}
