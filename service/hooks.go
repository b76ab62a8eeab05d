package service

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"minutebook/api"
	"minutebook/internal/sqlite"
	"minutebook/service/fault"
)

// webhook is a registered endpoint and whose it is.
type webhook struct {
	id, email, url, secret string
	includes               []api.Part
	triggers               []string
	createdAt              time.Time // or, if that is later, when it was last enabled
}

// webhookRequest is the body of 4.10.
type webhookRequest struct {
	DestinationURL                                    string
	TriggeredFor                                      []string
	Transcript, CRM, Summary, ActionItems, Highlights bool
}

// fields are the values of the body's keys.
func (q *webhookRequest) fields() map[string]any {
	return map[string]any{"destination_url": &q.DestinationURL, "triggered_for": &q.TriggeredFor, "include_transcript": &q.Transcript,
		"include_crm_matches": &q.CRM, "include_summary": &q.Summary, "include_action_items": &q.ActionItems, "include_highlights": &q.Highlights}
}

var triggerScopes = []string{api.TriggerMyRecordings, api.TriggerSharedExternal, api.TriggerMySharedWithTeam, api.TriggerSharedTeam}

// check applies the creation rules of 4.10.
func (q *webhookRequest) check() error {
	if q.DestinationURL == "" {
		return badRequest("destination_url is required")
	}
	if len(q.TriggeredFor) == 0 {
		return badRequest("triggered_for must name at least one scope")
	}
	for _, scope := range q.TriggeredFor {
		if !slices.Contains(triggerScopes, scope) {
			return badRequest("triggered_for holds an unknown scope")
		}
	}
	if !q.Transcript && !q.CRM && !q.Summary && !q.ActionItems {
		return badRequest("at least one of include_transcript, include_crm_matches, include_summary and include_action_items must be true")
	}
	return nil
}

func (q *webhookRequest) includes() []api.Part {
	var parts []api.Part
	for _, f := range []struct {
		on   bool
		part api.Part
	}{{q.Transcript, api.PartTranscript}, {q.Summary, api.PartSummary}, {q.ActionItems, api.PartActionItems},
		{q.Highlights, api.PartHighlights}, {q.CRM, api.PartCRM}} {
		if f.on {
			parts = append(parts, f.part)
		}
	}
	return parts
}

// postWebhook is POST /webhooks (4.10).
func (s *Service) postWebhook(w http.ResponseWriter, r *http.Request, c caller) error {
	var q webhookRequest
	if err := readJSON(r, q.fields(), false); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if err := s.checkDestination(q.DestinationURL); err != nil {
		return err
	}
	if q.Highlights && s.faults.Roll(fault.Flags, c.email) {
		return badRequest("include_highlights is not a known parameter")
	}
	slices.Sort(q.TriggeredFor)
	hook := webhook{email: c.email, url: q.DestinationURL, includes: q.includes(),
		triggers: slices.Compact(q.TriggeredFor), createdAt: s.now().Truncate(time.Millisecond).UTC()}
	if err := s.store.putWebhook(r.Context(), &hook); err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, api.Webhook{
		ID: hook.id, URL: hook.url, Secret: hook.secret, CreatedAt: api.TimeOf(hook.createdAt), TriggeredFor: hook.triggers,
		IncludeTranscript: q.Transcript, IncludeCRMMatches: q.CRM, IncludeSummary: q.Summary,
		IncludeActionItems: q.ActionItems, IncludeHighlights: q.Highlights,
	})
	return nil
}

// deleteWebhook is DELETE /webhooks/{id} (4.11). Another person's does not exist.
func (s *Service) deleteWebhook(w http.ResponseWriter, r *http.Request, c caller) error {
	if deleted, err := s.endWebhook(r.Context(), r.PathValue("id"), "AND email = ?", c.email); err != nil {
		return err
	} else if !deleted {
		return notFound("webhook")
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// DeleteWebhook deletes anybody's webhook.
func (s *Service) DeleteWebhook(ctx context.Context, id string) error {
	deleted, err := s.endWebhook(ctx, id, "")
	if err == nil && !deleted {
		err = fmt.Errorf("delete webhook %s: no webhook has this id; see minutebook service webhooks list", id)
	}
	return err
}

// endWebhook deletes a webhook that fulfils a further condition, and says whether it was there.
// Its queued deliveries are not sent any more.
func (s *Service) endWebhook(ctx context.Context, id, condition string, args ...any) (deleted bool, err error) {
	err = s.store.db.WriteTx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE webhooks SET deleted_at = ?, secret = '' WHERE id = ? AND deleted_at IS NULL `+condition,
			append([]any{s.now().UnixMilli(), id}, args...)...)
		if err != nil {
			return fmt.Errorf("delete webhook: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		deleted = true
		return dropPending(ctx, tx, id, "deleted")
	})
	return deleted, err
}

// dropPending ends the deliveries that a webhook still waits for.
func dropPending(ctx context.Context, tx *sql.Tx, id, state string) error {
	_, err := tx.ExecContext(ctx, `UPDATE deliveries SET state = ?, body = NULL WHERE webhook_id = ? AND state = 'pending'`, state, id)
	if err != nil {
		return fmt.Errorf("drop deliveries: %w", err)
	}
	return nil
}

// maxWebhooks is how many webhooks one person can have.
const maxWebhooks = 100

// putWebhook gives a webhook its id and secret and stores it.
func (st store) putWebhook(ctx context.Context, hook *webhook) error {
	key := make([]byte, 32)
	if _, err := io.ReadFull(st.rand, key); err != nil {
		return fmt.Errorf("make webhook secret: %w", err)
	}
	hook.secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
	var err error
	if hook.id, err = st.newID("wh_"); err != nil {
		return err
	}
	includes, err := json.Marshal(hook.includes)
	if err != nil {
		return err
	}
	triggers, err := json.Marshal(hook.triggers)
	if err != nil {
		return err
	}
	res, err := st.db.ExecContext(ctx, `INSERT INTO webhooks (id, email, url, secret, includes, triggered_for, created_at)
		SELECT ?, ?2, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM webhooks WHERE email = ?2 AND deleted_at IS NULL) < ?8`,
		hook.id, hook.email, hook.url, hook.secret, string(includes), string(triggers), hook.createdAt.UnixMilli(), maxWebhooks)
	if err != nil {
		return fmt.Errorf("store webhook: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, badRequest("you have %d webhooks, which is the most; delete one first", maxWebhooks))
	}
	return nil
}

// readWebhooks reads the webhooks that are neither deleted nor disabled; with id,
// only that one.
func readWebhooks(ctx context.Context, q querier, id string) ([]webhook, error) {
	rows, err := q.QueryContext(ctx, `SELECT id, email, url, secret, includes, triggered_for, max(created_at, coalesce(enabled_at, 0))
		FROM webhooks WHERE deleted_at IS NULL AND disabled_at IS NULL AND (?1 = '' OR id = ?1) ORDER BY created_at, id`, id)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	defer rows.Close()
	var hooks []webhook
	for rows.Next() {
		var h webhook
		var includes, triggers string
		var created int64
		if err := rows.Scan(&h.id, &h.email, &h.url, &h.secret, &includes, &triggers, &created); err != nil {
			return nil, fmt.Errorf("read webhooks: %w", err)
		}
		if err := json.Unmarshal([]byte(includes), &h.includes); err != nil {
			return nil, fmt.Errorf("read webhook %s: %w", h.id, err)
		}
		if err := json.Unmarshal([]byte(triggers), &h.triggers); err != nil {
			return nil, fmt.Errorf("read webhook %s: %w", h.id, err)
		}
		h.createdAt = sqlite.Time(created)
		hooks = append(hooks, h)
	}
	return hooks, rows.Err()
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
