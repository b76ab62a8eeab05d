package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/control"
	"minutebook/search"
)

// badly changes the dependencies of a house's operations.
func (h *webhookHouse) badly(change func(*control.Webhooks)) *webhookHouse {
	parts := h.parts
	change(&parts)
	bad := *h
	bad.ops, bad.parts = control.NewRegistry(), parts
	control.RegisterWebhooks(bad.ops, parts)
	return &bad
}

// askedOf has a house ask another service.
func askedOf(t *testing.T, h *webhookHouse, base string, service http.HandlerFunc) *webhookHouse {
	t.Helper()
	s := httptest.NewServer(service)
	t.Cleanup(s.Close)
	client, err := api.NewClient(api.ClientOptions{BaseURL: strings.Replace(s.URL, "http", base, 1), Credential: api.APIKey("mbk_key")})
	if err != nil {
		t.Fatal(err)
	}
	return h.badly(func(w *control.Webhooks) {
		w.Client = func(context.Context, string) (*api.Client, error) { return client, nil }
	})
}

func callFails(t *testing.T, h *webhookHouse, name string, q any) error {
	t.Helper()
	_, err := control.Call[json.RawMessage](t.Context(), h.ops, name, q, nil)
	if err == nil {
		t.Fatalf("%s %+v: no error", name, q)
	}
	return err
}

func listWebhooks(t *testing.T, h *webhookHouse) []control.WebhookInfo {
	t.Helper()
	return call[[]control.WebhookInfo](t, h, "webhook.list", control.WebhookRequest{})
}

// A creation leaves nothing where the service certainly made nothing, the
// intent where it may have.
func TestWebhookCreationBreaksOff(t *testing.T) {
	h := newWebhookHouse(t)
	for _, c := range []struct {
		name, base string
		service    http.HandlerFunc
		orphan     bool
	}{
		{"refused", "http", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, false},
		{"never reached", "https", func(http.ResponseWriter, *http.Request) {}, false},
		{"failed", "http", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oh", http.StatusNotImplemented) }, true},
		{"no answer", "http", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
		{"an answer without an id", "http", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"secret":"whsec_x"}`) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := callFails(t, askedOf(t, h, c.base, c.service), "webhook.create", control.WebhookRequest{Account: "anna"})
			list := listWebhooks(t, h)
			if !c.orphan {
				if len(list) != 0 {
					t.Errorf("it left %+v after %v", list, err)
				}
				return
			}
			if len(list) != 1 || list[0].State != inbox.RegistrationIntent || !strings.Contains(list[0].Advice, "delete "+list[0].ID) ||
				!strings.Contains(err.Error(), "webhook list") {
				t.Fatalf("it left %+v after %v", list, err)
			}
			call[control.Done](t, h, "webhook.delete", control.WebhookRequest{ID: list[0].ID})
		})
	}
}

// The intent is durable before the service is asked.
func TestWebhookIntentComesFirst(t *testing.T) {
	h := newWebhookHouse(t)
	var before []inbox.Registration
	bad := askedOf(t, h, "http", func(w http.ResponseWriter, q *http.Request) {
		before, _ = h.archive.Inbox().Registrations(q.Context(), "anna")
		w.WriteHeader(http.StatusForbidden)
	})
	callFails(t, bad, "webhook.create", control.WebhookRequest{Account: "anna"})
	if len(before) != 1 || before[0].State != inbox.RegistrationIntent || before[0].URL != h.parts.PublicURL+"/webhooks/anna" {
		t.Errorf("when the service was asked there was %+v", before)
	}
}

// A webhook that was made and cannot be noted is deleted again at the service,
// since nobody would know its id; where that fails too, the error names it.
func TestWebhookThatCannotBeNoted(t *testing.T) {
	for _, deletable := range []bool{true, false} {
		h := newWebhookHouse(t)
		deleted := ""
		bad := askedOf(t, h, "http", func(w http.ResponseWriter, q *http.Request) {
			switch {
			case q.Method == http.MethodPost:
				if err := h.archive.Inbox().Close(); err != nil { // as a disk that fails now
					t.Error(err)
				}
				w.WriteHeader(http.StatusCreated)
				fmt.Fprint(w, `{"id":"wh_lost","secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}`)
			case deletable:
				deleted = q.URL.Path
				w.WriteHeader(http.StatusNoContent)
			default:
				w.WriteHeader(http.StatusNotImplemented)
			}
		})
		err := callFails(t, bad, "webhook.create", control.WebhookRequest{Account: "anna"})
		if strings.Contains(err.Error(), "whsec_") {
			t.Errorf("the error shows the secret: %v", err)
		}
		if deletable && !strings.HasSuffix(deleted, "/webhooks/wh_lost") {
			t.Errorf("the service was asked to delete %q; error %v", deleted, err)
		}
		if !deletable && !strings.Contains(err.Error(), "wh_lost") {
			t.Errorf("the error does not name the webhook: %v", err)
		}
	}
}

// A deletion that breaks off is named, and its secret verifies until the service
// has deleted the webhook, which may be so already.
func TestWebhookDeletionBreaksOff(t *testing.T) {
	h := newWebhookHouse(t)
	created := call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna"})
	q := control.WebhookRequest{ID: created.ID}
	callFails(t, askedOf(t, h, "http", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) }), "webhook.delete", q)
	list := listWebhooks(t, h)
	if len(list) != 1 || list[0].State != inbox.RegistrationDeleting || !strings.Contains(list[0].Advice, "delete "+created.ID) {
		t.Errorf("list %+v", list)
	}
	if s, err := h.archive.Inbox().Secrets(t.Context(), "anna"); err != nil || len(s) != 1 {
		t.Errorf("%d secrets verify, %v; want the one being deleted", len(s), err)
	}
	call[control.Done](t, askedOf(t, h, "http", http.NotFound), "webhook.delete", q)
	if list := listWebhooks(t, h); len(list) != 0 {
		t.Errorf("list %+v", list)
	}
}

// A new webhook whose delivery does not arrive here is deleted again, and the
// old one stays in use.
func TestRotationThatDoesNotWork(t *testing.T) {
	h := newWebhookHouse(t)
	created := call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna"})
	for status, says := range map[int]string{200: "another receiver", 401: "another receiver", 404: "something else", 502: "502"} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		bad := h.badly(func(w *control.Webhooks) { w.PublicURL = elsewhere.URL })
		err := callFails(t, bad, "webhook.rotate", control.WebhookRequest{Account: "anna"})
		elsewhere.Close()
		if !strings.Contains(err.Error(), says) {
			t.Errorf("answered %d: %v", status, err)
		}
		list := listWebhooks(t, h)
		if len(list) != 1 || list[0].ID != created.ID || list[0].State != inbox.RegistrationActive {
			t.Errorf("answered %d: list %+v, want the old one", status, list)
		}
		if hooks, err := h.service.Hooks(t.Context()); err != nil || len(hooks) != 1 || hooks[0].ID != created.ID {
			t.Errorf("answered %d: the service has %+v, %v", status, hooks, err)
		}
	}
	call[control.WebhookTested](t, h, "webhook.test", control.WebhookRequest{Account: "anna"})
}

// The meeting made for a test leaves the archive also when the test fails.
func TestWebhookTestLeavesNothing(t *testing.T) {
	h := newWebhookHouse(t)
	call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna"})
	bad := h.badly(func(w *control.Webhooks) {
		w.Index = func(context.Context) (*search.Index, error) { return nil, errors.New("no index") }
	})
	callFails(t, bad, "webhook.test", control.WebhookRequest{Account: "anna"})
	if c, err := h.archive.Counts(t.Context()); err != nil || c.Meetings != 0 {
		t.Errorf("%d meetings after a test that failed, %v", c.Meetings, err)
	}
}

// With a meeting that the account has been shown, a test changes nothing of it.
func TestWebhookTestWithAMeeting(t *testing.T) {
	h := newWebhookHouse(t)
	o, err := archive.FromMeeting("anna", archive.SourceList, h.parts.Now(), []byte(`{"recording_id":42,"title":"Weekly","created_at":"2026-02-28T08:00:00Z","transcript":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	before, err := h.archive.Apply(t.Context(), []archive.Observation{o})
	if err != nil {
		t.Fatal(err)
	}
	call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna"})
	tested := call[control.WebhookTested](t, h, "webhook.test", control.WebhookRequest{Account: "anna"})
	if head, err := h.archive.Head(t.Context()); err != nil || head != before.Position || tested.RecordingID != 42 {
		t.Errorf("the change log went from %v to %v, %v; tested with %d", before.Position, head, err, tested.RecordingID)
	}
}

// The reason of a test that failed goes to admins, who may not see the meeting of the test.
func TestWebhookTestNamesNoMeeting(t *testing.T) {
	a := openDir(t)
	o, err := archive.FromMeeting("anna", archive.SourceList, time.Now(), []byte(`{"recording_id":4711,"title":"Weekly","created_at":"2026-02-28T08:00:00Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
	reason := &archive.ObservationError{RecordingID: 4711, Err: errors.New("part of 4711: it is too big for 47110")}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		archivetest.Quarantine(t, a, inbox.Delivery{Account: "anna", WebhookID: r.Header.Get("webhook-id"), RecordingID: 4711, Body: []byte("{}")}, reason.Error())
	}))
	t.Cleanup(receiver.Close)
	h := &webhookHouse{ops: control.NewRegistry()}
	control.RegisterWebhooks(h.ops, control.Webhooks{Archive: a, Accounts: []string{"anna"}, PublicURL: receiver.URL, Now: time.Now,
		Refresh:    func(context.Context) error { return nil },
		Configured: func(string) []string { return []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} }})
	failed := callFails(t, h, "webhook.test", control.WebhookRequest{Account: "anna"}).Error()
	if want := "in quarantine: apply observation of …: part of …: it is too big for 47110"; !strings.HasSuffix(failed, want) {
		t.Errorf("it fails with %q, want %q", failed, want)
	}
}
