package inbox

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

func TestCallbackTokens(t *testing.T) {
	var later atomic.Int64 // the writer reads the clock too
	now := func() time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(later.Load()))
	}
	path := filepath.Join(t.TempDir(), "inbox.db")
	i := openInbox(t, path, Options{Now: now})
	ctx := t.Context()
	token, err := i.NewCallback(ctx, "a", 42, KindTranscript, time.Hour)
	if err != nil || len(token) < 40 {
		t.Fatalf("token %q, %v", token, err)
	}
	other, err := i.NewCallback(ctx, "a", 42, KindDownload, time.Hour)
	if err != nil || other == token {
		t.Fatalf("second token %q, %v", other, err)
	}
	c, err := i.Callback(ctx, KindTranscript, token)
	if err != nil || c.Account != "a" || c.RecordingID != 42 || c.Key == token {
		t.Fatalf("callback %+v, %v", c, err)
	}
	for _, bad := range []struct{ kind, token string }{{KindSummary, token}, {KindTranscript, other}, {KindTranscript, token + "x"}, {KindTranscript, ""}, {"", token}} {
		if _, err := i.Callback(ctx, bad.kind, bad.token); !errors.Is(err, ErrNoCallback) {
			t.Errorf("kind %q with a wrong token: %v", bad.kind, err)
		}
	}
	put(t, i, Delivery{Account: c.Account, Kind: c.Kind, WebhookID: c.Key, RecordingID: c.RecordingID, Body: []byte("{}")})
	later.Store(int64(2 * time.Hour))
	if _, err := i.Callback(ctx, KindTranscript, token); err != nil {
		t.Errorf("a repeat of an answered callback: %v", err)
	}
	if _, err := i.Callback(ctx, KindDownload, other); !errors.Is(err, ErrCallbackExpired) {
		t.Errorf("an expired callback: %v", err)
	}
	if err := i.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file, []byte(token)) || bytes.Contains(file, []byte(other)) {
		t.Error("a token is in the file")
	}
}

func TestRegistrations(t *testing.T) {
	i := openInbox(t, filepath.Join(t.TempDir(), "inbox.db"), Options{})
	ctx := t.Context()
	intent, err := i.PutIntent(ctx, "a", "https://h.example/webhooks/a", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := i.PutIntent(ctx, "a", "https://h.example/webhooks/a", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := i.PutRegistration(ctx, intent, "wh_1", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); err != nil {
		t.Fatal(err)
	}
	if err := i.PutRegistration(ctx, intent, "wh_2", "whsec_x"); !errors.Is(err, ErrNoRegistration) {
		t.Errorf("completing an intent twice: %v", err)
	}
	all, err := i.Registrations(ctx, "")
	if err != nil || len(all) != 2 || all[0].State != RegistrationActive || all[0].ID != "wh_1" || all[1].State != RegistrationIntent {
		t.Fatalf("registrations %+v, %v", all, err)
	}
	if err := i.BeginRemove(ctx, "a", "wh_1"); err != nil {
		t.Fatal(err)
	}
	if s, err := i.Secrets(ctx, "a"); err != nil || len(s) != 1 {
		t.Errorf("secrets while deleting: %d, %v", len(s), err)
	}
	if err := i.RemoveRegistration(ctx, "a", "wh_1"); err != nil {
		t.Fatal(err)
	}
	if s, err := i.Secrets(ctx, "a"); err != nil || len(s) != 0 {
		t.Errorf("secrets after deleting: %d, %v", len(s), err)
	}
	if err := i.RemoveIntent(ctx, orphan); err != nil {
		t.Fatal(err)
	}
	if all, err := i.Registrations(ctx, "a"); err != nil || len(all) != 0 {
		t.Errorf("registrations in the end: %+v, %v", all, err)
	}
}
