package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/receiver"
)

// testTime is the longest time for which a test delivery is followed.
const testTime = 30 * time.Second

// WebhookTested has the times at which a test delivery reached each stage, in
// milliseconds after it was sent.
type WebhookTested struct {
	WebhookID    string `json:"webhook_id"`
	RecordingID  int64  `json:"recording_id"`
	Acknowledged int64  `json:"acknowledged_ms"`
	Applied      int64  `json:"applied_ms"`
	Indexed      int64  `json:"indexed_ms"`
}

// test signs a delivery, sends it to the public address, and follows it into the
// index.
func (w Webhooks) test(ctx context.Context, q WebhookRequest, emit Emit) (*WebhookTested, error) {
	if err := w.checkAccount(q.Account); err != nil {
		return nil, fmt.Errorf("test webhook: %w", err)
	}
	if err := w.checkReceiver("test webhook"); err != nil {
		return nil, err
	}
	secret, err := w.latestSecret(ctx, q.Account)
	if err != nil {
		return nil, err
	}
	return w.deliver(ctx, q.Account, secret, emit)
}

// latestSecret returns the account's newest registered secret, or else its last
// configured one.
func (w Webhooks) latestSecret(ctx context.Context, account string) (string, error) {
	secrets, err := w.Archive.Inbox().Secrets(ctx, account)
	if err != nil {
		return "", err
	}
	if len(secrets) == 0 {
		secrets = w.Configured(account)
	}
	if len(secrets) == 0 {
		return "", fmt.Errorf("test webhook: account %q has no secret: minutebook webhook create %s", account, account)
	}
	return secrets[len(secrets)-1], nil
}

func (w Webhooks) deliver(ctx context.Context, account, secret string, emit Emit) (*WebhookTested, error) {
	if w.PublicURL == "" {
		return nil, errors.New("test webhook: receiver.public_url is not set")
	}
	ctx, cancel := context.WithTimeout(ctx, testTime)
	defer cancel()
	body, id, invented, err := w.testBody(ctx, account)
	if err != nil {
		return nil, err
	}
	t := &WebhookTested{WebhookID: fmt.Sprintf("msg_minutebook_test_%d", w.Now().UnixNano()), RecordingID: id}
	err = w.follow(ctx, account, secret, body, t, emit)
	if invented {
		err = errors.Join(err, w.forgetTest(context.WithoutCancel(ctx), account, t))
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// follow sends a delivery and records in t the time of each stage.
func (w Webhooks) follow(ctx context.Context, account, secret string, body []byte, t *WebhookTested, emit Emit) error {
	sent := w.Now()
	url := strings.TrimSuffix(w.PublicURL, "/") + "/webhooks/" + account
	if err := w.post(ctx, url, secret, t.WebhookID, sent, body); err != nil {
		return err
	}
	t.Acknowledged = w.Now().Sub(sent).Milliseconds()
	_ = emit(WebhookStep{"acknowledged through " + url})
	if err := w.waitApplied(ctx, account, t); err != nil {
		return err
	}
	t.Applied = w.Now().Sub(sent).Milliseconds()
	_ = emit(WebhookStep{"applied to the archive"})
	if err := w.waitIndexed(ctx); err != nil {
		return err
	}
	t.Indexed = w.Now().Sub(sent).Milliseconds()
	_ = emit(WebhookStep{"in the index"})
	return nil
}

// forgetTest forgets a meeting that was made for a test, at whatever stage the test
// ended.
func (w Webhooks) forgetTest(ctx context.Context, account string, t *WebhookTested) error {
	_, err := w.Archive.Forget(ctx, t.RecordingID, "webhook test")
	if err == nil {
		return nil
	}
	if !errors.Is(err, archive.ErrNotFound) {
		return fmt.Errorf("the meeting made for the test is still there: %w; minutebook forget %d", err, t.RecordingID)
	}
	d, err := w.Archive.Inbox().DeliveryOf(ctx, account, t.WebhookID)
	if errors.Is(err, inbox.ErrNoDelivery) {
		return nil
	} else if err != nil {
		return err
	}
	return w.Archive.Inbox().Quarantine(ctx, d.ID, "a test that was given up before its delivery was applied")
}

// testBody returns the newest meeting that the account sees, unchanged, since a
// repeated delivery changes nothing, but without CRM matches: those of another account
// would become this one's. Where there is none, it invents a meeting that is forgotten
// after the test.
func (w Webhooks) testBody(ctx context.Context, account string) (body []byte, id int64, invented bool, err error) {
	if id, err = w.findShown(ctx, account); err != nil {
		return nil, 0, false, err
	}
	if id != 0 {
		body, err = w.Archive.MeetingJSONWithoutCRM(ctx, id)
		return body, id, false, err
	}
	now := w.Now().UTC()
	id = 1<<52 + now.UnixMilli() // larger than any id of a service
	body, err = json.Marshal(map[string]any{
		"recording_id": id, "title": "Minutebook test delivery", "created_at": now.Format(time.RFC3339),
		"recording_start_time": now.Format(time.RFC3339), "recording_end_time": now.Format(time.RFC3339),
		"url": "https://minutebook.invalid/test/" + strconv.FormatInt(id, 10),
	})
	return body, id, true, err
}

// findShown returns a meeting among the newest that an account sees, or 0.
func (w Webhooks) findShown(ctx context.Context, account string) (int64, error) {
	rows, err := w.Archive.List(ctx, archive.ListQuery{Viewer: archive.Viewer{All: true}, Limit: 100})
	if err != nil {
		return 0, err
	}
	var ids []int64
	for _, row := range rows {
		ids = append(ids, row.RecordingID)
	}
	seen, err := w.Archive.Principals(ctx, ids)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if slices.Contains(seen[id], archive.AccountPrincipal(account)) {
			return id, nil
		}
	}
	return 0, nil
}

func (w Webhooks) post(ctx context.Context, url, secret, id string, at time.Time, body []byte) error {
	req, err := receiver.SignedRequest(ctx, url, secret, id, at, body)
	if err != nil {
		return err
	}
	client := w.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("test webhook: %w; does receiver.public_url lead to receiver.listen?", err)
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusUnauthorized:
		return fmt.Errorf("test webhook: %s answered 401: another receiver answers there, or a proxy between changes the body or a header", url)
	case http.StatusNotFound:
		return fmt.Errorf("test webhook: %s answered 404: receiver.public_url leads to something else", url)
	}
	return fmt.Errorf("test webhook: %s answered %s", url, resp.Status)
}

// waitApplied waits until a delivery is applied or quarantined. Its error leaves out the number of
// the meeting, which an admin who tests a webhook on the page may not see.
func (w Webhooks) waitApplied(ctx context.Context, account string, t *WebhookTested) error {
	number := regexp.MustCompile(fmt.Sprintf(`\b%d\b`, t.RecordingID))
	return poll(ctx, "applied", func() (bool, error) {
		d, err := w.Archive.Inbox().DeliveryOf(ctx, account, t.WebhookID)
		if errors.Is(err, inbox.ErrNoDelivery) {
			return false, errors.New("test webhook: it was answered 200 and is not in this inbox: another receiver answers at receiver.public_url")
		}
		if d.State == inbox.StateQuarantined {
			return false, errors.New("test webhook: the delivery is in quarantine: " + number.ReplaceAllLiteralString(d.Reason, "…"))
		}
		return d.State == inbox.StateApplied, err
	})
}

// waitIndexed waits until the index has reached the archive's present head.
func (w Webhooks) waitIndexed(ctx context.Context) error {
	x, err := w.Index(ctx)
	if err != nil {
		return err
	}
	head, err := w.Archive.Head(ctx)
	if err != nil {
		return err
	}
	return poll(ctx, "indexed", func() (bool, error) {
		p := x.Progress()
		return !p.Rebuilding && p.Position.Epoch == head.Epoch && p.Position.Seq >= head.Seq, nil
	})
}

func poll(ctx context.Context, state string, done func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("follow the delivery until it is %s: %w", state, ctx.Err())
		}
	}
}
