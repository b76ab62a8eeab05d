package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
)

// Credential puts a caller's authentication into requests. An implementation
// never shows its secret in errors or when it is printed.
type Credential interface {
	// Apply authenticates a request. It may call the token endpoint first; an
	// error means that the request cannot be sent.
	Apply(ctx context.Context, r *http.Request) error
	// Refused reports that r, to which it was applied, was answered 401. It returns
	// true when a repetition would have a newer secret.
	Refused(ctx context.Context, r *http.Request) (bool, error)
	// InlineContent reports whether the list may include transcripts and summaries:
	// true for API keys, false for OAuth connections.
	InlineContent() bool
}

const apiKeyHeader = "X-Api-Key"

// APIKey returns the credential of a key.
func APIKey(key string) Credential {
	return &apiKey{read: func() (string, error) { return key, nil }}
}

// APIKeyFromFile reads the key from a file at its first use, and again when the
// service refuses it, so that a replaced key needs no restart.
func APIKeyFromFile(path string) Credential {
	return &apiKey{read: func() (string, error) {
		b, err := os.ReadFile(path)
		return string(bytes.TrimSpace(b)), err
	}}
}

type apiKey struct {
	read func() (string, error)

	mu  sync.Mutex // guards key
	key string
}

// String hides the key in printed values.
func (k *apiKey) String() string { return "API key" }

// GoString is String, for %#v.
func (k *apiKey) GoString() string { return "API key" }

// InlineContent is true: keys may read transcripts and summaries with the list.
func (k *apiKey) InlineContent() bool { return true }

// Apply sets the key, read again from its file after a refusal.
func (k *apiKey) Apply(_ context.Context, r *http.Request) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == "" {
		key, err := k.load()
		if err != nil {
			return err
		}
		k.key = key
	}
	r.Header.Set(apiKeyHeader, k.key)
	return nil
}

// Refused reads the key again and reports whether it has changed.
func (k *apiKey) Refused(_ context.Context, r *http.Request) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := k.load()
	if err != nil {
		return false, err
	}
	k.key = key
	return key != r.Header.Get(apiKeyHeader), nil
}

// load reads and checks the key. The caller has the lock.
func (k *apiKey) load() (string, error) {
	key, err := k.read()
	if err != nil {
		return "", fmt.Errorf("read the API key: %w", err)
	}
	key = strings.TrimSpace(key)
	if key == "" {
		return "", errors.New("the API key is empty: set api_key or api_key_file")
	}
	if !canBeSent(key) {
		return "", errors.New("the API key holds characters that no key has, such as a line break")
	}
	return key, nil
}

// canBeSent reports whether a secret has only characters that a header's word can have.
func canBeSent(secret string) bool {
	return !strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' })
}
