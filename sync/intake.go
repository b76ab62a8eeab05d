package syncer

import (
	"context"
	"errors"
	"fmt"
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
func (s *Syncer) intake(ctx context.Context) error {
	inbox := s.archive.Inbox()
	for ctx.Err() == nil {
		err := inbox.WaitPending(ctx)
		if err == nil {
			started := time.Now()
			_, err = s.drain(ctx, inbox)
			if err == nil && inbox.Busy() {
				pause(ctx, min(busyRest*time.Since(started), intakePause))
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, archive.ErrInboxClosed):
			return err
		case err != nil:
			s.trouble("intake", err)
			pause(ctx, intakePause)
		default:
			s.trouble("intake", nil)
		}
	}
	return ctx.Err()
}

// drainAll applies what is in the inbox now, for a command beside no daemon.
func (s *Syncer) drainAll(ctx context.Context) error {
	for {
		if n, err := s.drain(ctx, s.archive.Inbox()); n == 0 || err != nil {
			return err
		}
	}
}

// drain applies one batch of the inbox and returns how many deliveries it took.
// One that two take at a time is applied twice, which changes nothing.
func (s *Syncer) drain(ctx context.Context, inbox *archive.Inbox) (int, error) {
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
		s.loader.confirm(id)
	}
	return len(pending), inbox.Settle(ctx, in.outcomes...)
}

// applyDeliveries applies deliveries in one transaction and returns what came of
// each of them.
func (s *Syncer) applyDeliveries(ctx context.Context, pending []archive.Delivery) (in gathered, err error) {
	err = s.guard("intake", func() error {
		for _, d := range pending {
			in.add(s.read(d))
		}
		wanted, done, err := s.followUps(ctx, in.batch)
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
func (s *Syncer) replayPassing(ctx context.Context) error {
	n, err := s.archive.Inbox().ReplayPassing(ctx)
	if n > 0 {
		s.log.Info().Int("deliveries", n).Msg("deliveries that were quarantined because of the disk are applied again")
	}
	return err
}

// received is what a delivery turned out to be.
type received struct {
	observation *archive.Observation // nil: nothing to apply
	download    int64                // the recording whose download is announced
	outcome     archive.Outcome
}

// gathered is a batch of deliveries.
type gathered struct {
	batch     []archive.Observation
	downloads []int64
	outcomes  []archive.Outcome
}

func (g *gathered) add(r received) {
	if r.observation != nil {
		g.batch = append(g.batch, *r.observation)
	}
	if r.download != 0 {
		g.downloads = append(g.downloads, r.download)
	}
	g.outcomes = append(g.outcomes, r.outcome)
}

// read makes of a delivery what can be applied. What a callback says of a
// download is not believed: it only makes the download be read.
func (s *Syncer) read(d archive.Delivery) received {
	quarantine := func(format string, args ...any) received {
		reason := fmt.Sprintf(format, args...)
		s.log.Warn().Str("account", d.Account).Int64("delivery", d.ID).Str("reason", reason).Msg("delivery quarantined")
		return received{outcome: archive.Outcome{ID: d.ID, RecordingID: d.RecordingID, Quarantine: reason}}
	}
	if d.Body == nil {
		return quarantine("its body cannot be read back: the inbox file is damaged there")
	}
	ob, err := archive.Observe(d)
	if err != nil {
		return quarantine("%v", err)
	}
	applied := archive.Outcome{ID: d.ID, RecordingID: ob.RecordingID}
	if d.Kind == archive.KindDownload {
		return received{download: d.RecordingID, outcome: applied}
	}
	return received{observation: &ob, outcome: applied}
}

// followUps are the asks for what webhooks left out and the archive lacks; done
// are those that webhooks have answered.
func (s *Syncer) followUps(ctx context.Context, batch []archive.Observation) (wanted []ask, done []int64, err error) {
	ids := make([]int64, len(batch))
	for i, ob := range batch {
		ids[i] = ob.RecordingID
	}
	rows, err := s.archive.Rows(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	forgotten, err := s.archive.Forgotten(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	now := s.now()
	for _, ob := range batch {
		a := s.account(ob.Account)
		if a == nil || ob.Source != archive.SourceWebhook || forgotten[ob.RecordingID] {
			continue
		}
		one := newAsk(order{account: a}, ob, rows[ob.RecordingID], now)
		_, asked := s.asks.get(ob.RecordingID)
		missing := one.Transcript || one.Summary
		replay := now.Sub(one.Created) > lateFor && rows[ob.RecordingID] != nil
		switch {
		case asked && !missing:
			done = append(done, ob.RecordingID)
		case !asked && missing && !replay:
			one.Urgent = true
			wanted = append(wanted, one)
		}
	}
	return wanted, done, nil
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
