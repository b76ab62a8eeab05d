package control

import (
	"context"
	"fmt"
	"time"

	"minutebook/archive/inbox"
)

// DeliveriesRequest selects deliveries of the inbox.
type DeliveriesRequest struct {
	Account string `json:"account,omitempty"`
	State   string `json:"state,omitempty"`
	Before  int64  `json:"before,omitempty"`
	Limit   int    `json:"limit,omitempty"`
}

// DeliveryInfo is a delivery in a list.
type DeliveryInfo struct {
	ID          int64      `json:"id"`
	Account     string     `json:"account"`
	Kind        string     `json:"kind"`
	WebhookID   string     `json:"webhook_id"`
	ReceivedAt  time.Time  `json:"received_at"`
	State       string     `json:"state"`
	SettledAt   *time.Time `json:"settled_at,omitempty"`
	RecordingID int64      `json:"recording_id,omitempty"`
	Size        int64      `json:"size"`
	Reason      string     `json:"reason,omitempty"`
}

func (w Webhooks) deliveries(ctx context.Context, q DeliveriesRequest, _ Emit) ([]DeliveryInfo, error) {
	list, err := w.Archive.Inbox().List(ctx, inbox.Query(q))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		if err := w.checkChosen(q.Account); err != nil {
			return nil, fmt.Errorf("list deliveries: %w", err)
		}
	}
	out := []DeliveryInfo{}
	for _, d := range list {
		out = append(out, deliveryInfo(d))
	}
	return out, nil
}

func deliveryInfo(d inbox.Delivery) DeliveryInfo {
	i := DeliveryInfo{ID: d.ID, Account: d.Account, Kind: d.Kind, WebhookID: d.WebhookID, ReceivedAt: d.ReceivedAt,
		State: d.State, RecordingID: d.RecordingID, Size: d.Size, Reason: d.Reason}
	if !d.SettledAt.IsZero() {
		i.SettledAt = &d.SettledAt
	}
	return i
}

// ReplayRequest names a delivery by its number.
type ReplayRequest struct {
	ID int64 `json:"id"`
}

// replay applies a delivery again. With a daemon it waits until that is done.
// Without one, the delivery is applied at the next start.
func (w Webhooks) replay(ctx context.Context, q ReplayRequest, _ Emit) (*DeliveryInfo, error) {
	box := w.Archive.Inbox()
	if err := box.Replay(ctx, q.ID); err != nil {
		return nil, err
	}
	var d inbox.Delivery
	settled := func() (ok bool, err error) {
		d, err = box.Delivery(ctx, q.ID)
		return d.State != inbox.StateReceived, err
	}
	if w.Refresh == nil {
		if _, err := settled(); err != nil {
			return nil, err
		}
	} else {
		follow, cancel := context.WithTimeout(ctx, testTime)
		defer cancel()
		if err := poll(follow, "applied", settled); err != nil {
			return nil, fmt.Errorf("replay delivery %d: %w", q.ID, err)
		}
	}
	info := deliveryInfo(d)
	return &info, nil
}
