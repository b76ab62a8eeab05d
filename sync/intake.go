package syncer

import (
	"context"
	"errors"
	"time"

	"minutebook/archive"
)

const (
	// intakeBatch is how many deliveries are applied in one transaction.
	intakeBatch = 50
	// intakePause is how long intake rests after the disk failed.
	intakePause = 5 * time.Second
	// While deliveries come thick and fast their acknowledgements go first: a
	// batch is smaller, and intake rests so many times as long as it took.
	busyBatch = 10
	busyRest  = 5
)

// intake applies what is in the inbox as soon as it is there, until the context
// ends. What fails because of the disk is tried again; what no trying will change
// goes to quarantine, with the reason.
func (s *Syncer) runIntake(ctx context.Context) error {
	inbox := s.archive.Inbox()
	for ctx.Err() == nil {
		err := inbox.WaitPending(ctx)
		if err == nil {
			started := time.Now()
			_, err = s.drainBatch(ctx, inbox)
			if err == nil && inbox.Busy() {
				sleep(ctx, min(busyRest*time.Since(started), intakePause))
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, archive.ErrInboxClosed):
			return err
		case err != nil:
			s.reportHealth("intake", err)
			sleep(ctx, intakePause)
		default:
			s.reportHealth("intake", nil)
		}
	}
	return ctx.Err()
}

// drainAll applies what is in the inbox now, for a command beside no daemon.
func (s *Syncer) drainAll(ctx context.Context) error {
	for {
		if n, err := s.drainBatch(ctx, s.archive.Inbox()); n == 0 || err != nil {
			return err
		}
	}
}

// drain applies one batch of the inbox and returns how many deliveries it took.
// One that two take at a time is applied twice, which changes nothing.
func (s *Syncer) drainBatch(ctx context.Context, inbox *archive.Inbox) (int, error) {
	limit := intakeBatch
	if inbox.Busy() {
		limit = busyBatch
	}
	pending, err := inbox.Pending(ctx, limit)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	in, err := s.applyDeliveries(ctx, pending)
	if err != nil {
		if ctx.Err() != nil {
			return 0, err
		}
		return s.drainSingly(ctx, inbox, pending)
	}
	for _, id := range in.downloads {
		s.downloads.announce(id)
	}
	return len(pending), inbox.Settle(ctx, in.outcomes...)
}

// applyDeliveries applies deliveries in one transaction and returns what came of
// each of them.
func (s *Syncer) applyDeliveries(ctx context.Context, pending []archive.Delivery) (in deliveryBatch, err error) {
	err = s.guard("intake", func() error {
		for _, d := range pending {
			in.add(s.readDelivery(d))
		}
		wanted, done, err := s.planFollowUps(ctx, in.batch)
		if err != nil {
			return err
		}
		_, err = s.apply(ctx, in.batch, wanted, done)
		return err
	})
	return in, err
}

// drainSingly applies deliveries one by one after their batch failed, so that
// one bad delivery does not keep the others back. Only one that no trying again
// makes good goes to quarantine. Whatever else fails is of the archive or the
// machine: the delivery waits, and after a second failure in a row all do.
func (s *Syncer) drainSingly(ctx context.Context, inbox *archive.Inbox, pending []archive.Delivery) (int, error) {
	var failed, last error
	for n, d := range pending {
		in, err := s.applyDeliveries(ctx, pending[n:n+1])
		var bad *archive.ObservationError
		switch {
		case errors.As(err, &bad):
			in.outcomes = []archive.Outcome{{ID: d.ID, RecordingID: bad.RecordingID, Quarantine: err.Error()}}
		case err != nil && (last != nil || ctx.Err() != nil):
			return n, err
		case err != nil:
			failed, last = err, err
			continue
		}
		last = nil
		if err := inbox.Settle(ctx, in.outcomes...); err != nil {
			return n, err
		}
	}
	return len(pending), failed
}

// replayPassing has deliveries applied that an earlier version quarantined for a
// reason that passes.
func (s *Syncer) replayTransient(ctx context.Context) error {
	n, err := s.archive.Inbox().ReplayPassing(ctx)
	if n > 0 {
		s.log.Info().Int("deliveries", n).Msg("deliveries that were quarantined because of the disk are applied again")
	}
	return err
}

// received is what a delivery turned out to be.
// gathered is a batch of deliveries.
// read makes of a delivery what can be applied. What a callback says of a
// download is not believed: it only makes the download be read.
// followUps are the asks for what webhooks left out and the archive lacks; done
// are those that webhooks have answered.
// pause waits, or until the context ends.
