package syncer

import (
	"context"
	"errors"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/guard"
	"minutebook/internal/pause"
)

const (
	// intakeBatch is how many deliveries are applied in one transaction.
	intakeBatch = 50
	// intakePause is how long intake waits after the disk failed.
	intakePause = 5 * time.Second
	// While many deliveries arrive, their acknowledgements go first: a batch is
	// smaller, and intake then waits busyRest times as long as the batch took, at
	// most intakePause.
	busyBatch = 10
	busyRest  = 5
)

// runIntake applies deliveries as soon as the inbox has them, until ctx ends.
// It tries again after errors of the disk. A delivery that can never be applied
// is quarantined, with the reason.
func (s *Syncer) runIntake(ctx context.Context) error {
	box := s.archive.Inbox()
	for settled := false; ctx.Err() == nil; {
		var err error
		if !settled {
			err = s.settleQuarantine(ctx)
			settled = err == nil
		} else if err = box.WaitPending(ctx); err == nil {
			started := time.Now()
			_, err = s.drainBatch(ctx, box)
			if err == nil && box.Busy() {
				pause.For(ctx, min(busyRest*time.Since(started), intakePause))
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, inbox.ErrClosed):
			return err
		case err != nil:
			s.reportHealth("intake", err)
			pause.For(ctx, intakePause)
		default:
			s.reportHealth("intake", nil)
		}
	}
	return ctx.Err()
}

// drainAll applies everything in the inbox, for a command that runs without a
// daemon.
func (s *Syncer) drainAll(ctx context.Context) error {
	for {
		if n, err := s.drainBatch(ctx, s.archive.Inbox()); n == 0 || err != nil {
			return err
		}
	}
}

// drainBatch applies one batch of the inbox and returns how many deliveries it
// took. Two callers may apply the same delivery: the second time changes
// nothing.
func (s *Syncer) drainBatch(ctx context.Context, box *inbox.Inbox) (int, error) {
	limit := intakeBatch
	if box.Busy() {
		limit = busyBatch
	}
	pending, err := box.Pending(ctx, limit)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	in, err := s.applyDeliveries(ctx, pending)
	if err != nil {
		if ctx.Err() != nil {
			return 0, err
		}
		return s.drainSingly(ctx, box, pending)
	}
	return len(pending), s.settle(ctx, box, in)
}

// settle records the outcomes of deliveries, and passes announcements on to the downloader.
func (s *Syncer) settle(ctx context.Context, box *inbox.Inbox, in deliveryBatch) error {
	for _, id := range in.downloads {
		s.downloads.announce(id)
	}
	return box.Settle(ctx, in.outcomes...)
}

// applyDeliveries applies deliveries in one transaction.
func (s *Syncer) applyDeliveries(ctx context.Context, pending []inbox.Delivery) (in deliveryBatch, err error) {
	err = guard.Run(s.log, "intake", func() error {
		for _, d := range pending {
			in.add(s.readDelivery(d))
		}
		wanted, done, err := s.planFollowUps(ctx, in.batch)
		if err != nil {
			return err
		}
		applied, err := s.apply(ctx, in.batch, wanted, done)
		if err != nil {
			return err
		}
		return s.renewTasks(ctx, applied.Changed)
	})
	return in, err
}

// drainSingly applies deliveries one by one after their batch failed, so that
// one bad delivery does not block the others. Only a delivery that no retry can
// apply is quarantined. Any other error comes from the archive or the machine:
// the delivery waits, and after two such errors in a row all of them do.
func (s *Syncer) drainSingly(ctx context.Context, box *inbox.Inbox, pending []inbox.Delivery) (int, error) {
	var failed, last error
	for n, d := range pending {
		in, err := s.applyDeliveries(ctx, pending[n:n+1])
		var bad *archive.ObservationError
		switch {
		case errors.As(err, &bad):
			in.outcomes = []inbox.Outcome{{ID: d.ID, RecordingID: bad.RecordingID, Quarantine: err.Error()}}
		case err != nil && (last != nil || ctx.Err() != nil):
			return n, err
		case err != nil:
			failed, last = err, err
			continue
		}
		last = nil
		if err := s.settle(ctx, box, in); err != nil {
			return n, err
		}
	}
	return len(pending), failed
}

// settleQuarantine looks at the quarantine of earlier versions: it drops deliveries about
// forgotten meetings, and applies those again that were there for a temporary reason.
func (s *Syncer) settleQuarantine(ctx context.Context) error {
	if err := s.archive.Inbox().DropForgotten(ctx); err != nil {
		return err
	}
	n, err := s.archive.Inbox().ReplayPassing(ctx)
	if n > 0 {
		s.log.Info().Int("deliveries", n).Msg("deliveries that were quarantined because of the disk are applied again")
	}
	return err
}
