package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/sqlite"
	"minutebook/service/fault"
)

// event is a meeting whose summary is there for the first time (6.1).
type event struct {
	recordingID int64
	// isNewFor reports whether the meeting is new for a webhook, and not history:
	// recorded after the webhook was created, and not imported. nil: always.
	isNewFor func(webhook) bool
	// isOpen reports whether it is not known yet whether a webhook fires. nil: never.
	isOpen func(webhook) bool
}

// decideEvent decides, once and for ever, for every webhook whether it fires for
// the meeting, and queues those that do, in the caller's transaction. The
// decision is a row of its own either way, so that nothing that happens later
// to the meeting, its visibility or the archive makes the webhook fire. It tells
// whether some webhook waits and is still to be decided: also one that fires, while
// a part of the meeting is damaged, whose repair logs the meeting as changed.
func (s *Service) decideEvent(ctx context.Context, tx *sql.Tx, ev event) (waiting bool, err error) {
	hooks, err := readUndecidedWebhooks(ctx, tx, ev.recordingID)
	if err != nil || len(hooks) == 0 {
		return false, err
	}
	row, err := s.archive.Row(ctx, ev.recordingID)
	if err != nil || !row.HasSummary {
		return false, err
	}
	// The parts are read when the first webhook fires.
	read := sync.OnceValues(func() (map[api.Part]json.RawMessage, error) { return s.archive.PartsOf(ctx, ev.recordingID) })
	for _, hook := range hooks {
		isNew := ev.isNewFor == nil || ev.isNewFor(hook)
		switch {
		case isNew && ev.isOpen != nil && ev.isOpen(hook):
			waiting = true
		case isNew && s.fires(hook, ev.recordingID):
			var parts map[api.Part]json.RawMessage
			if parts, err = read(); err == nil {
				err = s.queueWebhook(ctx, tx, hook, ev.recordingID, parts)
			}
		default:
			err = s.store.insertEvent(ctx, tx, hook, ev.recordingID, "skipped", nil, s.now())
		}
		if errors.Is(err, archive.ErrUnreadable) {
			s.log.Warn().Int64("recording_id", ev.recordingID).Str("webhook", hook.id).Err(err).Msg("a webhook waits for the repair of its meeting")
			waiting, err = true, nil
		}
		if err != nil {
			return waiting, err
		}
	}
	return waiting, nil
}

// queueWebhook queues a meeting for a webhook that fires.
func (s *Service) queueWebhook(ctx context.Context, tx *sql.Tx, hook webhook, id int64, parts map[api.Part]json.RawMessage) error {
	if err := s.keepOwnCRM(ctx, hook.email, map[int64]map[api.Part]json.RawMessage{id: parts}); err != nil {
		return err
	}
	body, err := s.strict.AppendMeeting(nil, id, parts, hook.includes)
	if err != nil {
		return err
	}
	at := s.now()
	if s.faults.RollFor(fault.Reorder, id) {
		at = at.Add(reorderWait)
	}
	return s.store.insertEvent(ctx, tx, hook, id, "pending", body, at)
}

// readUndecidedWebhooks reads the webhooks without a decision about a meeting.
func readUndecidedWebhooks(ctx context.Context, tx *sql.Tx, id int64) ([]webhook, error) {
	hooks, err := readWebhooks(ctx, tx, "")
	if err != nil || len(hooks) == 0 {
		return nil, err
	}
	decided, err := sqlite.Column[string](ctx, tx, `SELECT webhook_id FROM deliveries WHERE recording_id = ? AND webhook_id IS NOT NULL`, id)
	if err != nil {
		return nil, fmt.Errorf("read decisions about %d: %w", id, err)
	}
	return slices.DeleteFunc(hooks, func(h webhook) bool { return slices.Contains(decided, h.id) }), nil
}

// fires applies a webhook's scopes with the visibility of this moment.
func (s *Service) fires(hook webhook, id int64) bool {
	if !s.mirror.IsActive(hook.email) {
		return false
	}
	scopes := s.mirror.Scopes(id, hook.email)
	return slices.ContainsFunc(hook.triggers, func(t string) bool { return slices.Contains(scopes, t) })
}

// reorderWait is how much later a re-ordered webhook is sent.
const reorderWait = 7 * time.Second

// insertEvent stores the decision on (webhook, recording); a second one is
// ignored. The webhook-id is fixed here, before the first sending.
func (st store) insertEvent(ctx context.Context, tx *sql.Tx, hook webhook, id int64, state string, body []byte, at time.Time) error {
	if gone, err := st.isForgotten(ctx, id); gone || err != nil {
		return err
	}
	message, err := st.newID("msg_")
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO deliveries (kind, owner, webhook_id, recording_id, message_id, url, body, state, created_at, next_at)
		VALUES ('webhook', ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		hook.email, hook.id, id, message, hook.url, body, state, st.now().UnixMilli(), at.UnixMilli())
	if err != nil {
		return fmt.Errorf("queue webhook: %w", err)
	}
	return nil
}
