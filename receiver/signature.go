package receiver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// minKey is the shortest key in bytes that is accepted. The library takes an
// empty one, with which anybody can sign.
const minKey = 16

// overlap is how long a secret still verifies after its webhook was deleted, or the
// configuration was loaded without it: longer than a sender waits for an answer.
const overlap = 30 * time.Second

// key is one secret's library object.
type key struct {
	*standardwebhooks.Webhook
	until time.Time // zero: for good
}

// retired is a secret that was removed.
type retired struct {
	secret string
	until  time.Time
}

// A keyring verifies deliveries, with one library object for each secret.
// It is not changed once it is in use.
type keyring struct {
	accounts map[string][]key
	now      func() time.Time          // nil: no key ends
	dummy    *standardwebhooks.Webhook // of a key that nobody knows
	tries    int                       // how many keys are tried for every delivery
}

func newKeyring(sources ...map[string][]string) (*keyring, error) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	dummy, err := standardwebhooks.NewWebhookRaw(secret)
	if err != nil {
		return nil, err
	}
	k := &keyring{accounts: map[string][]key{}, dummy: dummy, tries: 1}
	for _, source := range sources {
		for account, secrets := range source {
			for n, s := range secrets {
				if err := k.add(account, s, time.Time{}); err != nil {
					return nil, fmt.Errorf("use webhook secret %d of account %q: %w", n+1, account, err)
				}
			}
		}
	}
	return k, nil
}

func (k *keyring) add(account, secret string, until time.Time) error {
	w, err := newKey(secret)
	if err != nil {
		return err
	}
	k.accounts[account] = append(k.accounts[account], key{w, until})
	k.tries = max(k.tries, len(k.accounts[account]))
	return nil
}

func (k *keyring) addRetired(old map[string][]retired, now func() time.Time) error {
	k.now = now
	for account, list := range old {
		for _, s := range list {
			if err := k.add(account, s.secret, s.until); err != nil {
				return fmt.Errorf("use a retired webhook secret of account %q: %w", account, err)
			}
		}
	}
	return nil
}

// newKey reads one secret: base64, with or without "whsec_" before it. Its
// errors do not repeat it.
func newKey(secret string) (*standardwebhooks.Webhook, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return nil, errors.New("it is not base64 after whsec_; copy it whole from where the webhook was made")
	}
	if len(raw) < minKey {
		return nil, fmt.Errorf("it has %d bytes, at least %d are needed: with so few anybody could sign", len(raw), minKey)
	}
	return standardwebhooks.NewWebhook(secret)
}

// verify reports whether any of the account's secrets signed body. An unsigned body
// takes the same work for every account, known or not.
func (k *keyring) verify(account string, body []byte, h http.Header) bool {
	keys := k.accounts[account]
	for n := range k.tries {
		try := k.dummy
		if n < len(keys) && (keys[n].until.IsZero() || k.now().Before(keys[n].until)) {
			try = keys[n].Webhook
		}
		// The age was checked before the body was read.
		if try.VerifyIgnoringTimestamp(body, h) == nil {
			return true
		}
	}
	return false
}

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
