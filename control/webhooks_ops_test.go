package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/archive/inbox"
	"minutebook/control"
	"minutebook/receiver"
	"minutebook/search"
	"minutebook/service"
	syncer "minutebook/sync"
)

// webhookHouse is a daemon without its doors, and the service that it reads.
type webhookHouse struct {
	ops     *control.Registry
	archive *archive.Archive
	service *service.Service
	parts   control.Webhooks
}

func openDir(t *testing.T) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), archive.Options{Dir: archivetest.Dir(t), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func newWebhookHouse(t *testing.T) *webhookHouse {
	t.Helper()
	s, err := service.New(t.Context(), service.Options{Archive: openDir(t), Sandbox: true, AllowPrivate: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := s.EnsureAdminKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(s.Handler())
	t.Cleanup(upstream.Close)
	client, err := api.NewClient(api.ClientOptions{BaseURL: upstream.URL + "/external/v1", Credential: api.APIKey(key)})
	if err != nil {
		t.Fatal(err)
	}
	a := openDir(t)
	x, err := search.Open(t.Context(), search.Options{Archive: a, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	y, err := syncer.New(syncer.Options{Archive: a, Accounts: []syncer.Account{{Name: "anna", Client: client}}, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := receiver.New(receiver.Options{Inbox: a.Inbox(), Accounts: map[string][]string{"anna": nil}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func() error{
		func() error { return x.Follow(ctx) }, func() error { return y.Run(ctx) },
		func() error { return r.Serve(ctx, ln) }, func() error { return s.Run(ctx) },
	} {
		g.Go(run)
	}
	t.Cleanup(func() { cancel(); g.Wait(); x.Close() })
	h := &webhookHouse{ops: control.NewRegistry(), archive: a, service: s, parts: control.Webhooks{
		Archive: a, Accounts: []string{"anna"}, PublicURL: "http://" + ln.Addr().String(), Refresh: r.Refresh, Now: time.Now,
		Client:     func(context.Context, string) (*api.Client, error) { return client, nil },
		Configured: func(string) []string { return nil },
		Index:      func(context.Context) (*search.Index, error) { return x, nil },
	}}
	control.RegisterWebhooks(h.ops, h.parts)
	return h
}

func call[R any](t *testing.T, h *webhookHouse, name string, q any) R {
	t.Helper()
	out, err := control.Call[R](t.Context(), h.ops, name, q, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func TestWebhookLife(t *testing.T) {
	h := newWebhookHouse(t)
	anna := control.WebhookRequest{Account: "anna"}
	created := call[control.WebhookInfo](t, h, "webhook.create", anna)
	if created.ID == "" || created.State != inbox.RegistrationActive || created.Asked == nil || !created.Asked.IncludeTranscript {
		t.Fatalf("created %+v", created)
	}
	// Twice: the first time over an empty archive, which stays empty.
	for range 2 {
		tested := call[control.WebhookTested](t, h, "webhook.test", anna)
		if tested.WebhookID == "" || tested.Indexed < tested.Applied || tested.Applied < tested.Acknowledged {
			t.Errorf("tested %+v", tested)
		}
	}
	if c, err := h.archive.Counts(t.Context()); err != nil || c.Meetings != 0 {
		t.Errorf("%d meetings after a test, %v", c.Meetings, err)
	}
	rotated := call[control.WebhookInfo](t, h, "webhook.rotate", anna)
	if rotated.ID == created.ID {
		t.Error("rotated to itself")
	}
	list := call[[]control.WebhookInfo](t, h, "webhook.list", anna)
	if len(list) != 1 || list[0].ID != rotated.ID {
		t.Errorf("list after rotating: %+v", list)
	}
	if hooks, err := h.service.Hooks(t.Context()); err != nil || len(hooks) != 1 || hooks[0].ID != rotated.ID {
		t.Errorf("the service has %+v, %v", hooks, err)
	}
	call[control.Done](t, h, "webhook.delete", control.WebhookRequest{ID: rotated.ID})
	if list := call[[]control.WebhookInfo](t, h, "webhook.list", anna); len(list) != 0 {
		t.Errorf("list after deleting: %+v", list)
	}
}

// A webhook whose account has left the configuration is named, and its secret can be dropped
// here although the service cannot be asked.
func TestWebhookOfAnAccountThatLeft(t *testing.T) {
	h := newWebhookHouse(t)
	created := call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna"})
	left := h.badly(func(w *control.Webhooks) {
		w.Accounts = []string{"bert"}
		w.Client = func(context.Context, string) (*api.Client, error) { return nil, errors.New("unknown account") }
	})
	if list := listWebhooks(t, left); len(list) != 1 || !strings.Contains(list[0].Advice, "minutebook webhook delete "+created.ID) {
		t.Errorf("listed %+v", list)
	}
	deleted := call[control.WebhookDeleted](t, left, "webhook.delete", control.WebhookRequest{ID: created.ID})
	if !deleted.Done.Done || !strings.Contains(deleted.Advice, "in the service's own settings") {
		t.Errorf("deleted %+v", deleted)
	}
	if list := listWebhooks(t, left); len(list) != 0 {
		t.Errorf("still there: %+v", list)
	}
	if hooks, err := h.service.Hooks(t.Context()); err != nil || len(hooks) != 1 {
		t.Errorf("the service has %+v, %v; it was not asked", hooks, err)
	}
}

// A rotation asks for everything that the webhooks in use have asked for. One that is being
// deleted does not count.
func TestRotationAsksForAllThatWasAsked(t *testing.T) {
	h := newWebhookHouse(t)
	ask := func(trigger string, include ...string) control.WebhookInfo {
		return call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna", Triggers: []string{trigger}, Include: include})
	}
	ask(api.TriggerMyRecordings, "transcript", "highlights")
	deleted := ask(api.TriggerSharedExternal, "crm_matches")
	ask(api.TriggerSharedTeam, "summary")
	if err := h.archive.Inbox().BeginRemove(t.Context(), "anna", deleted.ID); err != nil {
		t.Fatal(err)
	}
	rotated := call[control.WebhookInfo](t, h, "webhook.rotate", control.WebhookRequest{Account: "anna"})
	want := &api.WebhookRequest{DestinationURL: h.parts.PublicURL + "/webhooks/anna", TriggeredFor: []string{api.TriggerMyRecordings, api.TriggerSharedTeam},
		IncludeTranscript: true, IncludeSummary: true, IncludeHighlights: true}
	if diff := cmp.Diff(want, rotated.Asked); diff != "" {
		t.Error(diff)
	}
	if list := call[[]control.WebhookInfo](t, h, "webhook.list", control.WebhookRequest{}); len(list) != 1 || list[0].ID != rotated.ID {
		t.Errorf("list %+v", list)
	}
}

// A test delivery has nothing of another account's CRM, and gives its account none of it.
func TestWebhookTestWithAnothersCRM(t *testing.T) {
	h := newWebhookHouse(t)
	people := []archive.AccountSetting{{Name: "anna", Email: "anna@example.com"}, {Name: "bert", Email: "bert@example.com"}}
	if err := h.archive.SetAccounts(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	for account, crm := range map[string]string{"anna": "null", "bert": `{"deals":[{"name":"Zebrafish"}]}`} {
		raw := fmt.Appendf(nil, `{"recording_id":42,"title":"Weekly","created_at":"2026-02-28T08:00:00Z","transcript":[],"crm_matches":%s}`, crm)
		o, err := archive.FromMeeting(account, archive.SourceList, h.parts.Now(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.archive.Apply(t.Context(), []archive.Observation{o}); err != nil {
			t.Fatal(err)
		}
	}
	var posted []byte
	watched := h.badly(func(w *control.Webhooks) {
		w.HTTP = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := r.GetBody()
			if err == nil {
				posted, err = io.ReadAll(body)
			}
			if err != nil {
				return nil, err
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	})
	call[control.WebhookInfo](t, h, "webhook.create", control.WebhookRequest{Account: "anna"})
	tested := call[control.WebhookTested](t, watched, "webhook.test", control.WebhookRequest{Account: "anna"})
	if tested.RecordingID != 42 || !bytes.Contains(posted, []byte("Weekly")) || bytes.Contains(posted, []byte("Zebrafish")) {
		t.Errorf("posted %s", posted)
	}
	if own, err := h.archive.CRMFor(t.Context(), archive.ViewerWith("anna@example.com"), []int64{42}); err != nil || len(own) > 0 {
		t.Errorf("anna sees %v, %v", own, err)
	}
	if own, err := h.archive.CRMFor(t.Context(), archive.ViewerWith("bert@example.com"), []int64{42}); err != nil || len(own) != 1 {
		t.Errorf("bert sees %v, %v", own, err)
	}
}

// roundTripper is a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWebhookOrphanIsNamed(t *testing.T) {
	h := newWebhookHouse(t)
	if _, err := h.archive.Inbox().PutIntent(t.Context(), "anna", "https://h.example/webhooks/anna", "{}"); err != nil {
		t.Fatal(err)
	}
	list := call[[]control.WebhookInfo](t, h, "webhook.list", control.WebhookRequest{})
	if len(list) != 1 || !strings.Contains(list[0].Advice, "https://h.example/webhooks/anna") || !strings.Contains(list[0].Advice, list[0].ID) {
		t.Fatalf("list %+v", list)
	}
	call[control.Done](t, h, "webhook.delete", control.WebhookRequest{ID: list[0].ID})
	if list := call[[]control.WebhookInfo](t, h, "webhook.list", control.WebhookRequest{}); len(list) != 0 {
		t.Errorf("list %+v", list)
	}
}

func TestWebhookMistakes(t *testing.T) {
	h := newWebhookHouse(t)
	for name, q := range map[string]control.WebhookRequest{
		"webhook.create": {Account: "bert"}, "webhook.delete": {ID: "wh_unknown"}, "webhook.rotate": {Account: "anna"}, "webhook.test": {Account: "anna"},
	} {
		if _, err := control.Call[json.RawMessage](t.Context(), h.ops, name, q, nil); err == nil {
			t.Errorf("%s %+v: no error", name, q)
		}
	}
	for _, q := range []control.WebhookRequest{{Account: "anna", Triggers: []string{"all"}}, {Account: "anna", Include: []string{"everything"}}, {Account: "anna", Include: []string{"highlights"}}} {
		if _, err := control.Call[json.RawMessage](t.Context(), h.ops, "webhook.create", q, nil); err == nil {
			t.Errorf("create %+v: no error", q)
		}
	}
	if list := call[[]control.WebhookInfo](t, h, "webhook.list", control.WebhookRequest{}); len(list) != 0 {
		t.Errorf("mistakes left %+v", list)
	}
}

// Where the configuration has no receiver, that is said, and not that no daemon runs.
func TestADeliveryNeedsAReceiver(t *testing.T) {
	h := newWebhookHouse(t)
	h.parts.PublicURL, h.parts.Refresh = "", nil
	ops := control.NewRegistry()
	control.RegisterWebhooks(ops, h.parts)
	for _, name := range []string{"webhook.test", "webhook.rotate"} {
		_, err := control.Call[json.RawMessage](t.Context(), ops, name, control.WebhookRequest{Account: "anna"}, nil)
		if err == nil || !strings.Contains(err.Error(), "receiver.public_url is not set") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplayAndQuarantine(t *testing.T) {
	h := newWebhookHouse(t)
	for id, body := range map[string]string{"msg_1": "not JSON", "msg_2": `{"recording_id":42,"title":"Weekly","created_at":"2026-02-28T08:00:00Z"}`} {
		if _, err := h.archive.Inbox().Put(t.Context(), inbox.Delivery{Account: "anna", WebhookID: id, Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	var list []control.DeliveryInfo
	for range 1000 {
		list = call[[]control.DeliveryInfo](t, h, "webhook.deliveries", control.DeliveriesRequest{})
		if len(list) == 2 && list[0].State != inbox.StateReceived && list[1].State != inbox.StateReceived {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, d := range list {
		again := call[control.DeliveryInfo](t, h, "webhook.replay", control.ReplayRequest{ID: d.ID})
		want := map[string]string{"msg_1": inbox.StateQuarantined, "msg_2": inbox.StateApplied}[d.WebhookID]
		if again.State != want {
			t.Errorf("%s replayed: %+v", d.WebhookID, again)
		}
	}
	q := call[[]control.DeliveryInfo](t, h, "webhook.deliveries", control.DeliveriesRequest{State: inbox.StateQuarantined})
	if len(q) != 1 || q[0].Reason == "" {
		t.Errorf("quarantine %+v", q)
	}
	raw, _ := json.Marshal(q)
	if bytes.Contains(raw, []byte("whsec_")) {
		t.Error("a secret is shown")
	}
}
