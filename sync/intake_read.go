package syncer

import (
	"context"
	"fmt"

	"minutebook/archive"
	"minutebook/archive/inbox"
)

// parsedDelivery is a delivery that was read.
type parsedDelivery struct {
	observation *archive.Observation // nil: nothing to apply
	download    int64                // the recording whose download is announced
	outcome     inbox.Outcome
}

// deliveryBatch collects parsed deliveries.
type deliveryBatch struct {
	batch     []archive.Observation
	downloads []int64
	outcomes  []inbox.Outcome
}

// add puts a delivery into the batch.
func (g *deliveryBatch) add(r parsedDelivery) {
	if r.observation != nil {
		g.batch = append(g.batch, *r.observation)
	}
	if r.download != 0 {
		g.downloads = append(g.downloads, r.download)
	}
	g.outcomes = append(g.outcomes, r.outcome)
}

// readDelivery parses a delivery. A callback that announces a download is not
// trusted: it only makes the downloader poll.
func (s *Syncer) readDelivery(d inbox.Delivery) parsedDelivery {
	quarantine := func(format string, args ...any) parsedDelivery {
		reason := fmt.Sprintf(format, args...)
		s.log.Warn().Str("account", d.Account).Int64("delivery", d.ID).Str("reason", reason).Msg("delivery quarantined")
		return parsedDelivery{outcome: inbox.Outcome{ID: d.ID, RecordingID: d.RecordingID, Quarantine: reason}}
	}
	if d.Body == nil {
		return quarantine("its body cannot be read back: the inbox file is damaged there")
	}
	ob, err := archive.FromDelivery(d)
	if err != nil {
		return quarantine("%v", err)
	}
	applied := inbox.Outcome{ID: d.ID, RecordingID: ob.RecordingID}
	if d.Kind == inbox.KindDownload {
		return parsedDelivery{download: d.RecordingID, outcome: applied}
	}
	return parsedDelivery{observation: &ob, outcome: applied}
}

// planFollowUps returns the tasks for content that webhooks left out and the
// archive does not have. The tasks in done were fulfilled by webhooks.
func (s *Syncer) planFollowUps(ctx context.Context, batch []archive.Observation) (wanted []contentTask, done []int64, err error) {
	ids := make([]int64, len(batch))
	for i, ob := range batch {
		ids[i] = ob.RecordingID
	}
	rows, err := s.archive.Rows(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	now := s.now()
	for _, ob := range batch {
		a := s.account(ob.Account)
		if a == nil || ob.Source != archive.SourceWebhook {
			continue
		}
		task := newTask(walkSpec{account: a}, ob, rows[ob.RecordingID], now)
		_, asked := s.content.get(ob.RecordingID)
		incomplete := task.Transcript || task.Summary
		replay := now.Sub(task.Created) > oldAfter && rows[ob.RecordingID] != nil
		switch {
		case asked && !incomplete:
			done = append(done, ob.RecordingID)
		case !asked && incomplete && !replay:
			task.Urgent = true
			wanted = append(wanted, task)
		}
	}
	return wanted, done, nil
}
