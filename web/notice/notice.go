// Package notice tells an address of the meetings that a saved search found: a webhook of
// each meeting, signed as Standard Webhooks describe, or an e-mail of all. Ids depend only
// on the search and the meetings, so that a receiver recognises a repetition.
package notice

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/api"
	"minutebook/archive/notes"
	"minutebook/internal/outbound"
)

// requestTimeout bounds one request to an address.
const requestTimeout = 20 * time.Second

// ErrGone is the answer of an address that wants no notifications any more (410).
var ErrGone = errors.New("notify: the address is gone")

// Match is a meeting that a saved search found.
type Match struct {
	RecordingID int64    `json:"recording_id"`
	Title       string   `json:"title"`
	Start       api.Time `json:"recording_start_time"`
	Speaker     string   `json:"speaker,omitempty"`
	Text        string   `json:"text,omitempty"`
	URL         string   `json:"url,omitempty"`
}

// message is the body of a webhook.
type message struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      data   `json:"data"`
}

type data struct {
	SavedSearch int64  `json:"saved_search_id"`
	Name        string `json:"name"`
	Query       string `json:"query"`
	Match
}

// Hooks sends webhooks. It is safe for concurrent use.
type Hooks struct {
	client *http.Client
}

// NewHooks returns Hooks with a client; nil stands for one that dials public addresses
// alone.
func NewHooks(client *http.Client) *Hooks {
	if client == nil {
		client = outbound.NewClient(outbound.Options{Timeout: requestTimeout, FreshConns: true})
	}
	return &Hooks{client}
}

// Send sends the webhook of a match. It fails with ErrGone, or when the address did not
// answer 2xx. Its errors do not name the address, which may hold a secret.
func (h *Hooks) Send(ctx context.Context, saved notes.SavedSearch, m Match, now time.Time) error {
	id := messageID(saved, m.RecordingID)
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(message{"saved_search.matched", now.UTC().Format(time.RFC3339), data{saved.ID, saved.Name, saved.Query, m}}); err != nil {
		return fmt.Errorf("write a notification: %w", err)
	}
	hook, err := standardwebhooks.NewWebhook(saved.Secret)
	if err != nil {
		return fmt.Errorf("read the secret of a saved search: %w", err)
	}
	signature, err := hook.Sign(id, now, body.Bytes())
	if err != nil {
		return fmt.Errorf("sign a notification: %w", err)
	}
	status, err := h.post(ctx, saved.Notify, &body, http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {fmt.Sprint(now.Unix())}, "Webhook-Signature": {signature}})
	switch {
	case err != nil:
		return err
	case status == http.StatusGone:
		return ErrGone
	case status/100 != 2:
		return fmt.Errorf("notify: the address answered %d", status)
	}
	return nil
}

// messageID returns the id of the message of some meetings that a search found.
func messageID(saved notes.SavedSearch, ids ...int64) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %d", saved.ID, saved.CreatedAt.UnixMilli())
	for _, id := range ids {
		fmt.Fprintf(h, " %d", id)
	}
	return "msg_" + hex.EncodeToString(h.Sum(nil)[:16])
}

// post sends a body and returns the status of the answer.
func (h *Hooks) post(ctx context.Context, address string, body io.Reader, header http.Header) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, body)
	if err != nil {
		return 0, errors.New("notify: the address cannot be read")
	}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "Minutebook")
	req.Header = header
	resp, err := h.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return 0, fmt.Errorf("notify: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // whatever it says
	return resp.StatusCode, nil
}
