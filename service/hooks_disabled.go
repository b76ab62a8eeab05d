package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"minutebook/internal/sqlite"
)

// quietAfter is how long after a failed attempt the next one counts as a new failure:
// nothing is known of an endpoint that nothing was sent to. It is longer than the longest
// pause of retryDelay.
const quietAfter = 24 * time.Hour

// recordEndpoint records since when a webhook's endpoint has been failing. It disables
// a webhook whose endpoint is gone for good (410, by Standard Webhooks) or has failed
// for disableAfter, with no more than quietAfter between the attempts.
func recordEndpoint(ctx context.Context, tx *sql.Tx, id string, out outcome) (disabled bool, err error) {
	if out.ok {
		_, err = tx.ExecContext(ctx, `UPDATE webhooks SET failing_since = NULL WHERE id = ?`, id)
		return false, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE webhooks SET failing_since = coalesce(iif(failed_at >= ?1, failing_since, NULL), ?2), failed_at = ?2 WHERE id = ?3`,
		out.at.Add(-quietAfter).UnixMilli(), out.at.UnixMilli(), id)
	if err != nil {
		return false, err
	}
	reason, failingBefore := "the endpoint failed for five days: "+out.reason, out.at.Add(-disableAfter)
	if out.status == http.StatusGone {
		reason, failingBefore = "the endpoint answered 410 Gone", out.at
	}
	res, err := tx.ExecContext(ctx, `UPDATE webhooks SET disabled_at = ?, reason = ?
		WHERE id = ? AND disabled_at IS NULL AND deleted_at IS NULL AND failing_since <= ?`,
		out.at.UnixMilli(), reason, id, failingBefore.UnixMilli())
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	return true, dropPending(ctx, tx, id, "disabled")
}

// EnableWebhook enables a disabled webhook again. Meetings recorded before that do not
// fire it, as if it were created now.
func (s *Service) EnableWebhook(ctx context.Context, id string) error {
	res, err := s.store.db.ExecContext(ctx, `UPDATE webhooks SET disabled_at = NULL, reason = '', failing_since = NULL, enabled_at = ?
		WHERE id = ? AND disabled_at IS NOT NULL AND deleted_at IS NULL`, s.now().UnixMilli(), id)
	if err != nil {
		return fmt.Errorf("enable webhook: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(fmt.Errorf("enable webhook %s: no disabled webhook has this id; see minutebook service webhooks list", id), err)
	}
	return nil
}

// DisabledHook is a webhook that is sent nothing until a person enables it.
type DisabledHook struct {
	ID     string    `json:"id"`
	Email  string    `json:"email"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// readDisabledWebhooks returns the disabled webhooks, the longest disabled first.
func (st store) readDisabledWebhooks(ctx context.Context) (list []DisabledHook, err error) {
	err = sqlite.Each(ctx, st.db.R, func(rows *sql.Rows) error {
		var h DisabledHook
		var since int64
		if err := rows.Scan(&h.ID, &h.Email, &since, &h.Reason); err != nil {
			return err
		}
		h.Since = sqlite.Time(since)
		list = append(list, h)
		return nil
	}, `SELECT id, email, disabled_at, reason FROM webhooks WHERE disabled_at IS NOT NULL AND deleted_at IS NULL ORDER BY disabled_at, id`)
	if err != nil {
		return nil, fmt.Errorf("list disabled webhooks: %w", err)
	}
	return list, nil
}
