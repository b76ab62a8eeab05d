package web

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"minutebook/api"
	"minutebook/archive"
	syncer "minutebook/sync"
)

// daemonState is the part of `status --json` that the page shows.
type daemonState struct {
	syncer.Status
	Retention  *archive.RetentionHold `json:"retention,omitempty"`
	Upkeep     map[string]upkeepJSON  `json:"upkeep"`
	Disk       diskJSON               `json:"disk"`
	Activities []activityJSON         `json:"activities"`
}

// visibleState returns the daemon's state as far as the visitor may know it: all of it
// for admins, the state of their own accounts for others. It is nil without a daemon.
func (s *server) visibleState(ctx context.Context) (*daemonState, error) {
	if s.Status == nil {
		return nil, nil
	}
	v, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	state := &daemonState{}
	if err := json.Unmarshal(raw, state); err != nil {
		return nil, fmt.Errorf("read the daemon's state: %w", err)
	}
	own, err := s.ownAccounts(ctx)
	if err != nil {
		return nil, err
	}
	state.Accounts = slices.DeleteFunc(state.Accounts, func(a syncer.AccountStatus) bool { return !own(a.Name) })
	state.Failures = slices.DeleteFunc(state.Failures, func(f syncer.FailureStatus) bool { return !own(f.Account) })
	if !visitorOf(ctx).Admin {
		state.Status = syncer.Status{Accounts: state.Accounts, Failures: state.Failures}
		state.Retention, state.Upkeep, state.Disk, state.Activities = nil, nil, diskJSON{}, nil
	}
	err = s.hideMeetings(ctx, &state.Status)
	return state, err
}

// ownAccounts returns whether the state of an account is for the visitor.
func (s *server) ownAccounts(ctx context.Context) (func(account string) bool, error) {
	visitor := visitorOf(ctx)
	if visitor.Admin {
		return func(string) bool { return true }, nil
	}
	people, err := s.Archive.AccountPeople(ctx)
	return func(account string) bool {
		email := people[account]
		return email != "" && slices.ContainsFunc(visitor.Viewer.Emails, func(own string) bool { return api.FoldEmail(own) == email })
	}, err
}

// hideMeetings takes the meetings that the visitor does not see out of the failures.
func (s *server) hideMeetings(ctx context.Context, state *syncer.Status) error {
	lists := [][]syncer.FailureStatus{state.Failures}
	for _, a := range state.Accounts {
		lists = append(lists, a.Failures)
	}
	for _, list := range lists {
		for i := range list {
			if hidden, err := s.isHidden(ctx, list[i].RecordingID); err != nil {
				return err
			} else if hidden {
				list[i].RecordingID, list[i].What = 0, "a meeting"
			}
		}
	}
	return nil
}

// visibleFailures returns the open failures that the visitor may know of.
func (s *server) visibleFailures(ctx context.Context) ([]failureView, error) {
	all, err := s.Archive.Failures(ctx, true)
	if err != nil {
		return nil, err
	}
	own, err := s.ownAccounts(ctx)
	if err != nil {
		return nil, err
	}
	var views []failureView
	for _, f := range all {
		if !own(f.Account) {
			continue
		}
		hidden, err := s.isHidden(ctx, f.RecordingID)
		if err != nil {
			return nil, err
		}
		if hidden {
			f.RecordingID, f.What = 0, "a meeting"
		}
		views = append(views, failureView{Failure: f})
	}
	return views, nil
}

// isHidden reports whether a failure is about a meeting that the visitor does not see.
func (s *server) isHidden(ctx context.Context, id int64) (bool, error) {
	if id == 0 || viewerOf(ctx).All {
		return false, nil
	}
	visible, err := s.Archive.SeenOf(ctx, viewerOf(ctx), []int64{id})
	return len(visible) == 0, err
}
