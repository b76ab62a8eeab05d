package api

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minutebook/internal/loopback"
)

func TestAReplacedKeyFileNeedsNoRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "key")
		write := func(key string) {
			if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		valid, calls := "first", 0
		tr := &loopback.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; r.Header.Get(apiKeyHeader) != valid {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, `{"items":[]}`)
		})}
		write("first")
		c, err := NewClient(ClientOptions{BaseURL: testBase, Credential: APIKeyFromFile(path), HTTP: &http.Client{Transport: tr}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		valid = "second"
		if err := c.Check(t.Context()); statusOf(err) != http.StatusUnauthorized || calls != 2 {
			t.Errorf("with the old key: %v after %d calls", err, calls)
		}
		write("second")
		if err := c.Check(t.Context()); err != nil || calls != 4 {
			t.Errorf("with the new key: %v after %d calls", err, calls)
		}
	})
}

func TestKeysThatCannotBeAreNotSent(t *testing.T) {
	for _, cred := range []Credential{APIKey(""), APIKey("a\nb"), APIKey("schlüssel"), APIKeyFromFile("/nonexistent")} {
		r, _ := http.NewRequest(http.MethodGet, testBase, nil)
		if err := cred.Apply(t.Context(), r); err == nil || r.Header.Get(apiKeyHeader) != "" {
			t.Errorf("%v was sent, %v", cred, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", APIKey("topsecret"), APIKey("topsecret"), APIKey("topsecret"), APIKey("topsecret")); strings.Contains(text, "topsecret") {
		t.Errorf("a key prints as %s", text)
	}
}

func TestRetryAfterForms(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, "1.5": 1500 * time.Millisecond, "200000": 200000 * time.Second, "9999999999": maxRetryAfter,
		testTime.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		testTime.Add(-time.Hour).Format(http.TimeFormat):       0,
	} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {value}}, testTime); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", value, got, ok, want)
		}
	}
	for _, value := range []string{"", "-1", "soon", "NaN", "+Inf", "infinity", "1e9", "0x1p9", "1_000"} {
		if got, ok := RetryAfter(http.Header{"Retry-After": {value}}, testTime); ok {
			t.Errorf("%q was read as %v", value, got)
		}
	}
	// The service's clock is an hour ahead of this one.
	ahead := testTime.Add(time.Hour)
	h := http.Header{"Date": {ahead.Format(http.TimeFormat)}, "Retry-After": {ahead.Add(20 * time.Second).Format(http.TimeFormat)}}
	if got, _ := RetryAfter(h, testTime); got != 20*time.Second {
		t.Errorf("by the service's clock it is %v, want 20 s", got)
	}
}

func TestClientOptionsAreChecked(t *testing.T) {
	for _, base := range []string{"", "meet.example", "ftp://meet.example", "https://", "https://u:p@meet.example/x", "https://meet.example/?a", "https://meet.example/%zz"} {
		if _, err := NewClient(ClientOptions{BaseURL: base, Credential: APIKey("k")}); err == nil {
			t.Errorf("%q was taken for a base_url", base)
		}
	}
	if _, err := NewClient(ClientOptions{BaseURL: testBase}); err == nil {
		t.Error("a client without a credential was made")
	}
	if c, err := NewClient(ClientOptions{BaseURL: testBase + "/ ", Credential: APIKey("k")}); err != nil || c.base.String() != testBase {
		t.Errorf("got %v", err)
	}
}

func TestErrorKinds(t *testing.T) {
	wrap := func(e *Error) error { return fmt.Errorf("sync: %w", e) }
	if !IsCursorRefused(wrap(&Error{Status: 400, Cursor: true})) || IsCursorRefused(wrap(&Error{Status: 400})) || IsCursorRefused(wrap(&Error{Status: 500, Cursor: true})) {
		t.Error("refused cursors are told apart wrongly")
	}
	for status, temporary := range map[int]bool{400: false, 401: false, 403: false, 404: false, 408: true, 422: false, 429: true, 500: true, 501: false, 502: true, 503: true} {
		if IsTemporary(wrap(&Error{Status: status})) != temporary {
			t.Errorf("%d: temporary is not %v", status, temporary)
		}
	}
	for err, refused := range map[error]bool{
		wrap(&Error{Status: 401, Path: "/users"}): true, wrap(&Error{Status: 403, Path: "/meetings"}): false, wrap(&Error{Status: 403, Path: "/meeting_types"}): true,
		wrap(&Error{Status: 403, Path: "/users"}): false, wrap(&Error{Status: 403, Path: "/recordings/1/download"}): false,
		wrap(&Error{Status: 400, Path: "/meetings"}): false, wrap(&Error{Status: 400, Path: "/meeting_types"}): true,
		wrap(&Error{Status: 404, Path: "/meeting_types"}): true, wrap(&Error{Status: 422, Path: "/meeting_types"}): true,
		wrap(&Error{Status: 404, Path: "/meeting_types", Cursor: true}): false, wrap(&Error{Status: 429, Path: "/meeting_types"}): false,
		wrap(&Error{Status: 500, Path: "/meeting_types"}): false, fmt.Errorf("x: %w", &ReconnectError{Account: "work", Reason: "lost"}): true,
		errors.New("x"): false,
	} {
		if IsAccountRefused(err) != refused {
			t.Errorf("%v: account refused is not %v", err, refused)
		}
	}
	if IsTemporary(nil) || IsTemporary(errors.New("x")) || IsNotFound(nil) {
		t.Error("an error that is none of the service's is taken for one")
	}
}
