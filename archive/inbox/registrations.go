package inbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"minutebook/internal/sqlite"
)

// The states of a webhook's registration. An intent that stays is an orphan: the
// service may have made a webhook whose id nobody knows.
const (
	RegistrationIntent   = "intent"
	RegistrationActive   = "active"
	RegistrationDeleting = "deleting" // its deletion was decided; its secret still verifies
)

// ErrNoRegistration means that no such webhook is registered.
var ErrNoRegistration = errors.New("no such webhook registration")

// A Registration is a webhook that this archive has at the service.
type Registration struct {
	Intent    int64 // the number of the intent that it came from
	Account   string
	ID        string // the service's id, the only way to delete it; "" for an intent
	Secret    string // never to be shown
	URL       string // where it delivers to
	Request   string // JSON of the request
	CreatedAt time.Time
	State     string // one of the Registration constants
}

// PutIntent notes that a webhook is about to be asked for, and returns the
// intent's number once that is durable.
func (i *Inbox) PutIntent(ctx context.Context, account, url, request string) (int64, error) {
	var id int64
	w := &write{size: 1024, do: func(ctx context.Context, conn *sql.Conn) error {
		res, err := conn.ExecContext(ctx, `INSERT INTO registrations (account, state, url, request, created_at)
			VALUES (?, 'intent', ?, ?, ?)`, account, url, request, toMillis(i.now()))
		if err != nil {
			return err
		}
		id, err = res.LastInsertId()
		return err
	}}
	if err := i.submit(ctx, w); err != nil {
		return 0, fmt.Errorf("note the webhook about to be made: %w", err)
	}
	return id, nil
}

// PutRegistration completes an intent with the service's answer. It returns
// once that is durable; nothing else may be done before.
func (i *Inbox) PutRegistration(ctx context.Context, intent int64, webhookID, secret string) error {
	return i.changeRegistration(ctx, `UPDATE registrations SET state = 'active', webhook_id = ?, secret = ?, settled_at = ?
		WHERE intent = ? AND state = 'intent'`, webhookID, secret, toMillis(i.now()), intent)
}

// RemoveIntent drops an intent that the service certainly did not fulfil, or
// whose orphan a person has dealt with.
func (i *Inbox) RemoveIntent(ctx context.Context, intent int64) error {
	return i.changeRegistration(ctx, `DELETE FROM registrations WHERE intent = ? AND state = 'intent'`, intent)
}

// BeginRemove notes that a registration is about to be deleted at the service.
func (i *Inbox) BeginRemove(ctx context.Context, account, webhookID string) error {
	return i.changeRegistration(ctx, `UPDATE registrations SET state = 'deleting', settled_at = ?
		WHERE account = ? AND webhook_id = ? AND state IN ('active', 'deleting')`, toMillis(i.now()), account, webhookID)
}

// RemoveRegistration forgets a registration's secret, after the service has
// deleted the webhook.
func (i *Inbox) RemoveRegistration(ctx context.Context, account, webhookID string) error {
	return i.changeRegistration(ctx, `UPDATE registrations SET state = 'deleted', secret = '', settled_at = ?
		WHERE account = ? AND webhook_id = ? AND state <> 'deleted'`, toMillis(i.now()), account, webhookID)
}

func (i *Inbox) changeRegistration(ctx context.Context, query string, args ...any) error {
	var n int64
	w := &write{size: 1024, do: func(ctx context.Context, conn *sql.Conn) error {
		res, err := conn.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	}}
	if err := i.submit(ctx, w); err != nil {
		return fmt.Errorf("note the webhook's registration: %w", err)
	}
	if n == 0 {
		return ErrNoRegistration
	}
	return nil
}

// Registrations lists an account's webhooks and intents, or every account's for
// "", without those that were deleted, the oldest first.
func (i *Inbox) Registrations(ctx context.Context, account string) ([]Registration, error) {
	list, err := sqlite.List(ctx, i.db.R, func(rows *sql.Rows, g *Registration) error {
		var created int64
		err := rows.Scan(&g.Intent, &g.Account, &g.ID, &g.Secret, &g.URL, &g.Request, &created, &g.State)
		g.CreatedAt = fromMillis(created)
		return err
	}, `SELECT intent, account, coalesce(webhook_id, ''), secret, url, request, created_at, state
		FROM registrations WHERE (?1 = '' OR account = ?1) AND state <> 'deleted' ORDER BY intent`, account)
	if err != nil {
		return nil, fmt.Errorf("list webhooks: %w", err)
	}
	return list, nil
}

// Secrets returns the secrets that verify deliveries to an account: those of
// its active registrations and of those being deleted.
func (i *Inbox) Secrets(ctx context.Context, account string) ([]string, error) {
	all, err := i.Registrations(ctx, account)
	if err != nil {
		return nil, err
	}
	var secrets []string
	for _, g := range all {
		if g.Secret != "" {
			secrets = append(secrets, g.Secret)
		}
	}
	return secrets, nil
}
