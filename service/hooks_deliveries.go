package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// Delivery is a row of the queue as it is listed: without body and address.
type Delivery struct {
	ID          int64     `json:"id"`
	Kind        string    `json:"kind"` // webhook, transcript, summary, download
	Webhook     string    `json:"webhook,omitempty"`
	RecordingID int64     `json:"recording_id"`
	MessageID   string    `json:"webhook_id"`
	State       string    `json:"state"` // pending, done, failed, skipped, withheld, deleted, disabled, restored
	Attempts    int       `json:"attempts"`
	CreatedAt   time.Time `json:"created_at"`
	NextAt      time.Time `json:"next_at,omitzero"`
	LastAt      time.Time `json:"last_at,omitzero"`
	LastStatus  int       `json:"last_status,omitempty"`
	LastError   string    `json:"last_error,omitempty"`
}

// Deliveries lists the newest rows of the queue, at most limit, of one state or,
// with "", of all but skipped.
func (s *Service) Deliveries(ctx context.Context, state string, limit int) ([]Delivery, error) {
	rows, err := s.store.db.R.QueryContext(ctx, `SELECT id, kind, coalesce(webhook_id, ''), recording_id, message_id, state, attempts,
		created_at, next_at, coalesce(last_at, 0), coalesce(last_status, 0), last_error FROM deliveries
		WHERE state = ?1 OR ?1 = '' AND state <> 'skipped' ORDER BY id DESC LIMIT ?2`, state, limit)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	defer rows.Close()
	list := []Delivery{}
	for rows.Next() {
		var d Delivery
		var created, next, last int64
		err := rows.Scan(&d.ID, &d.Kind, &d.Webhook, &d.RecordingID, &d.MessageID, &d.State, &d.Attempts,
			&created, &next, &last, &d.LastStatus, &d.LastError)
		if err != nil {
			return nil, fmt.Errorf("list deliveries: %w", err)
		}
		d.CreatedAt = sqlite.Time(created)
		if d.State == "pending" {
			d.NextAt = sqlite.Time(next)
		}
		if last != 0 {
			d.LastAt = sqlite.Time(last)
		}
		list = append(list, d)
	}
	return list, rows.Err()
}

// RetryDelivery makes a pending delivery due now.
func (s *Service) RetryDelivery(ctx context.Context, id int64) error {
	res, err := s.store.db.ExecContext(ctx, `UPDATE deliveries SET next_at = ? WHERE id = ? AND state = 'pending'`, s.now().UnixMilli(), id)
	if err != nil {
		return fmt.Errorf("retry delivery: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(fmt.Errorf("retry delivery %d: it is not waiting to be sent", id), err)
	}
	s.wakeSender()
	return nil
}

// Hook is a webhook as it is listed: without its secret.
type Hook struct {
	ID           string    `json:"id"`
	Email        string    `json:"email"`
	URL          string    `json:"url"`
	TriggeredFor []string  `json:"triggered_for"`
	CreatedAt    time.Time `json:"created_at"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	DisabledAt   time.Time `json:"disabled_at,omitzero"`
	Reason       string    `json:"reason,omitempty"`
}

// Hooks lists the webhooks that are not deleted, disabled ones among them.
func (s *Service) Hooks(ctx context.Context) ([]Hook, error) {
	rows, err := s.store.db.R.QueryContext(ctx, `SELECT id, email, url, triggered_for, created_at, coalesce(failing_since, 0),
		coalesce(disabled_at, 0), reason FROM webhooks WHERE deleted_at IS NULL ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	defer rows.Close()
	list := []Hook{}
	for rows.Next() {
		var h Hook
		var triggers string
		var created, failing, disabled int64
		if err := rows.Scan(&h.ID, &h.Email, &h.URL, &triggers, &created, &failing, &disabled, &h.Reason); err != nil {
			return nil, fmt.Errorf("list webhooks: %w", err)
		}
		if err := json.Unmarshal([]byte(triggers), &h.TriggeredFor); err != nil {
			return nil, fmt.Errorf("list webhooks: %w", err)
		}
		h.CreatedAt = sqlite.Time(created)
		if failing != 0 {
			h.FailingSince = sqlite.Time(failing)
		}
		if disabled != 0 {
			h.DisabledAt = sqlite.Time(disabled)
		}
		list = append(list, h)
	}
	return list, rows.Err()
}
