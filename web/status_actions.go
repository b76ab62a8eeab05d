package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"minutebook/archive/inbox"
	"minutebook/web/access"
)

// runJob begins a job of an account now, for an admin.
func (s *server) runJob(ctx context.Context, account, job string) error {
	if s.Run == nil {
		return &failure{http.StatusNotFound, "No program that reads the service runs here."}
	}
	if s.CheckJob != nil && s.CheckJob(account, job) != nil {
		return &failure{http.StatusNotFound, "There is no such job."}
	}
	if err := s.recordChange(ctx, access.JobStarted, access.IDs{Account: account, Job: job}); err != nil {
		return err
	}
	return s.Run(account, job)
}

// jobButton is a button that runs a job now.
type jobButton struct{ Account, Job, Label string }

// Name returns the job as the page names it.
func (b jobButton) Name() string {
	for _, j := range jobNames {
		if j.key == b.Job {
			return j.name
		}
	}
	return b.Job
}

// replayDelivery has a delivery applied again, for an admin.
func (s *server) replayDelivery(ctx context.Context, name string) error {
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return errNoDelivery
	}
	box := s.Archive.Inbox()
	if _, err := box.Delivery(ctx, id); errors.Is(err, inbox.ErrNoDelivery) {
		return errNoDelivery
	} else if err != nil {
		return err
	}
	if err := s.recordChange(ctx, access.DeliveryReplayed, access.IDs{Delivery: id}); err != nil {
		return err
	}
	err = box.Replay(ctx, id)
	if errors.Is(err, inbox.ErrBodyDropped) {
		return &failure{http.StatusConflict, "The body of this delivery is no longer kept: run a job that reads the meeting again."}
	}
	return err
}

var errNoDelivery = &failure{http.StatusNotFound, "There is no such delivery."}

// recordChange writes what an admin does into the audit before it is done.
func (s *server) recordChange(ctx context.Context, kind access.EventKind, ids access.IDs) error {
	if s.Record == nil {
		return nil
	}
	return s.Record(ctx, access.Event{Actor: visitorOf(ctx).Actor(), Kind: kind, IDs: ids})
}

// postJob answers the button that runs a job.
func (s *server) postJob(w http.ResponseWriter, r *http.Request) error {
	if err := s.runJob(r.Context(), r.PostForm.Get("account"), r.PostForm.Get("job")); err != nil {
		return err
	}
	return s.seeOther(w, r, "/status")
}

// postReplay answers the button that replays a delivery.
func (s *server) postReplay(w http.ResponseWriter, r *http.Request) error {
	if err := s.replayDelivery(r.Context(), r.PostForm.Get("delivery")); err != nil {
		return err
	}
	return s.seeOther(w, r, "/status")
}

// apiRunJob is postJob for programs.
func (s *server) apiRunJob(w http.ResponseWriter, r *http.Request) error {
	if err := s.runJob(r.Context(), r.PathValue("account"), r.PathValue("job")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// apiReplay is postReplay for programs.
func (s *server) apiReplay(w http.ResponseWriter, r *http.Request) error {
	if err := s.replayDelivery(r.Context(), r.PathValue("delivery")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
