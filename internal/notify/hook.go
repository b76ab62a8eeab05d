package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"minutebook/internal/outbound"
	"minutebook/internal/phrase"
)

// The formats of a [Hook].
const (
	FormatWebhook = "webhook" // the message as JSON, signed by Standard Webhooks
	FormatNtfy    = "ntfy"    // the text, with its title in a header
	FormatSlack   = "slack"   // {"text": …}, as Slack, Mattermost and others take it
)

// hookTime is how long an address may take to answer.
const hookTime = 20 * time.Second

// Hook posts messages to an HTTP address.
type Hook struct {
	Label        string // names the channel, without a secret
	URL          string // may be a secret
	Format       string
	Secret       string // whsec_…, for FormatWebhook
	Token        string // bearer token, or ""
	AllowPrivate bool
	Now          func() time.Time // of signatures
}

// Name implements [Channel].
func (h *Hook) Name() string { return h.Label }

// slackText takes their meaning from the characters that mark mentions and links: titles
// and names in a message are other people's words.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Send implements [Channel].
func (h *Hook) Send(ctx context.Context, m Message) error {
	body, header, err := h.encode(m)
	if err != nil {
		return fmt.Errorf("send to %s: %w", h.Label, err)
	}
	if h.Token != "" {
		header.Set("Authorization", "Bearer "+h.Token)
	}
	if err := post(ctx, http.MethodPost, h.URL, body, header, h.AllowPrivate); err != nil {
		return fmt.Errorf("send to %s: %w", h.Label, err)
	}
	return nil
}

func (h *Hook) encode(m Message) ([]byte, http.Header, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	switch h.Format {
	case FormatNtfy:
		priority := map[Kind]string{Problem: "high", Over: "low", News: "default"}[m.Kind]
		return []byte(m.Text), http.Header{"Content-Type": {"text/plain; charset=utf-8"},
			"Title": {"Minutebook: " + phrase.Tame(m.Title)}, "Priority": {priority}}, nil
	case FormatSlack:
		body, err := json.Marshal(map[string]string{"text": "*Minutebook: " + slackText.Replace(m.Title) + "*\n" + slackText.Replace(m.Text)})
		return body, header, err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return nil, nil, err
	}
	key, err := standardwebhooks.NewWebhook(h.Secret)
	if err != nil {
		return nil, nil, errors.New("read the secret: it is not whsec_ and base64")
	}
	now := h.Now()
	signature, err := key.Sign(m.ID, now, body)
	header.Set("webhook-id", m.ID)
	header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("webhook-signature", signature)
	return body, header, err
}

// callHeartbeat calls a heartbeat address.
func callHeartbeat(ctx context.Context, address string, allowPrivate bool) error {
	if err := post(ctx, http.MethodGet, address, nil, http.Header{}, allowPrivate); err != nil {
		return fmt.Errorf("call the heartbeat address: %w", err)
	}
	return nil
}

// post makes a request. Its error does not have the address, which may be a secret.
func post(ctx context.Context, method, address string, body []byte, header http.Header, allowPrivate bool) error {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return errors.New("read the address: it is no http address")
	}
	request.Header = header
	answer, err := outbound.NewClient(outbound.Options{AllowPrivate: allowPrivate, Timeout: hookTime, FreshConns: true}).Do(request)
	if err != nil {
		return explain(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
	switch status := fmt.Sprintf("it answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode)); {
	case answer.StatusCode/100 == 2:
		return nil
	case answer.StatusCode/100 == 3:
		return fmt.Errorf("%w: %s, and redirects are not followed: give the address that it leads to", ErrRefused, status)
	case answer.StatusCode/100 == 4 && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusRequestTimeout:
		return fmt.Errorf("%w: %s", ErrRefused, status)
	default:
		return errors.New(status)
	}
}
