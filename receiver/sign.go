package receiver

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// CheckSecret fails unless a webhook secret can be used: base64, with or without
// "whsec_", of at least 16 bytes. Its error does not repeat the secret.
func CheckSecret(secret string) error {
	_, err := newKey(secret)
	return err
}

// SignedRequest is the POST of a delivery as the service sends it.
func SignedRequest(ctx context.Context, url, secret, id string, at time.Time, body []byte) (*http.Request, error) {
	key, err := newKey(secret)
	if err != nil {
		return nil, fmt.Errorf("sign delivery: %w", err)
	}
	signature, err := key.Sign(id, at, body)
	if err != nil {
		return nil, fmt.Errorf("sign delivery: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("sign delivery: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("Webhook-Signature", signature)
	return req, nil
}
