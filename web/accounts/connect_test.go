package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
	"minutebook/service"
	"minutebook/web/access"
)

const (
	ann, bob, kim = "ann@acme.example", "bob@acme.example", "kim@acme.example"
)

// meeting is a line of a sandbox: recorded by somebody, private or shared with all.
func meeting(id int, recorder, shared, invitee string) string {
	return fmt.Sprintf(`{"recording_id": %d, "title": "m", "created_at": "2026-05-%02dT10:00:00Z", "shared_with": %q,
		"recorded_by": {"name": "x", "email": %q, "email_domain": "acme.example", "team": "Sales"},
		"calendar_invitees": [{"name": "i", "email": %q, "is_external": false}]}`+"\n", id, id, shared, recorder, invitee)
}

// house is a Connector over a real service.
type house struct {
	*Connector
	people   *access.DB
	upstream *service.Service
	handler  http.Handler // answers in the service's place when it is set
	log      bytes.Buffer
}

func newHouse(t *testing.T, meetings string, configured string) *house {
	t.Helper()
	h := &house{}
	up, err := archive.Open(t.Context(), archive.Options{Dir: t.TempDir(), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	if h.upstream, err = service.New(t.Context(), service.Options{Archive: up, Sandbox: true, Now: time.Now, Logger: zerolog.Nop()}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.upstream.Load(t.Context(), strings.NewReader(strings.ReplaceAll(meetings, "\n\t\t", " ")), "meetings"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.handler != nil {
			h.handler.ServeHTTP(w, r)
			return
		}
		h.upstream.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	h.people, err = access.Open(t.Context(), access.Options{Archive: archivetest.Open(t, t.TempDir()), Logger: zerolog.Nop(), AccountKeys: [][]byte{bytes.Repeat([]byte{7}, 32)}})
	if err != nil {
		t.Fatal(err)
	}
	h.Connector, err = New(Options{People: h.people, BaseURL: srv.URL + "/external/v1", Logger: zerolog.New(&h.log),
		IsConfigured: func(key string) bool { return key == configured }})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) person(t *testing.T, address string) access.Person {
	t.Helper()
	p, err := h.people.AddPerson(t.Context(), access.ActorCommand, address, "", true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (h *house) key(t *testing.T, address string) string {
	t.Helper()
	key, err := h.upstream.CreateKey(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestAnAccountIsTriedBeforeItIsKept connects accounts by their keys: one's own alone is
// kept.
func TestAnAccountIsTriedBeforeItIsKept(t *testing.T) {
	t.Parallel()
	meetings := meeting(1, ann, "no_teams", bob) + meeting(2, ann, "no_teams", "x@acme.example") + meeting(3, bob, "all_teams", ann) +
		meeting(4, bob, "no_teams", ann) + meeting(5, kim, "all_teams", ann)
	h := newHouse(t, meetings, "configured-key")
	a, b := h.person(t, ann), h.person(t, bob)
	annsKey, bobsKey := h.key(t, ann), h.key(t, bob)
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		person access.Person
		key    string
		want   error
	}{
		{"no key", a, "  ", ErrKey},
		{"a line break", a, "a\nb", ErrKey},
		{"an unknown key", a, "nobodys-key", ErrRefused},
		{"a configured key", a, "configured-key", ErrConfigured},
		{"another's key", b, annsKey, ErrOthers},
		{"a stranger's key", h.person(t, "eve@acme.example"), annsKey, ErrNoMeetings},
		{"one's own", a, " " + annsKey + "\n", nil},
		{"one's own again", a, annsKey, nil},
		{"the other's own", b, bobsKey, nil},
	} {
		if err := h.ConnectKey(ctx, c.person, c.key); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	list, err := h.List(ctx)
	if err != nil || len(list) != 2 || list[0].Address != ann && list[1].Address != ann {
		t.Fatalf("connected: %+v, %v", list, err)
	}
	for _, account := range list {
		client, err := h.Client(account)
		if err != nil || client.Check(ctx) != nil {
			t.Errorf("%s is not read: %v", account.Name, err)
		}
		if same, err := h.Client(account); err != nil || same != client {
			t.Errorf("%s has another client: %v", account.Name, err)
		}
		if err := h.people.Disconnect(ctx, access.ActorCommand, account.Person); err != nil {
			t.Error(err)
		}
		if err := client.Check(ctx); !errors.Is(err, access.ErrNoAccount) {
			t.Errorf("a call after the account was ended: %v", err)
		}
	}
	h.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	if err := h.ConnectKey(ctx, a, annsKey); !errors.Is(err, ErrRefused) {
		t.Errorf("a service that knows nothing: %v", err)
	}
	for range triesAtOnce {
		err = h.ConnectKey(ctx, b, "nobodys-key")
	}
	if !errors.Is(err, ErrTooOften) {
		t.Errorf("one try after another: %v", err)
	}
	for _, key := range []string{annsKey, bobsKey} {
		if strings.Contains(h.log.String(), key) {
			t.Error("a key is in the log")
		}
	}
}

// usedIn returns the calls of a class that a budget counts.
func usedIn(b *api.Budget, class api.Class) int {
	if b == nil {
		return 0
	}
	all := b.Snapshot()
	return all[slices.IndexFunc(all, func(u api.Usage) bool { return u.Class == class })].Used
}

// TestAnAccountIsConnectedThroughTheApp exchanges a code of the app, and ends the
// connection's calls with its person.
func TestAnAccountIsConnectedThroughTheApp(t *testing.T) {
	t.Parallel()
	const redirect = "https://minutes.example" + RedirectPath
	h := newHouse(t, meeting(1, ann, "no_teams", bob)+meeting(2, bob, "all_teams", ann), "")
	ctx := t.Context()
	app, secret, err := h.upstream.CreateApp(ctx, "minutebook", []string{redirect}, false)
	if err != nil {
		t.Fatal(err)
	}
	tokens := api.NewBudget(api.BudgetOptions{Now: func() time.Time { return archivetest.Epoch }})
	h.o.App = &App{ClientID: app.ClientID, ClientSecret: secret, RedirectURL: redirect, Budget: tokens}
	a, k := h.person(t, ann), h.person(t, kim)
	h.person(t, "boss@acme.example")
	connect := func(p access.Person, as, state string) error {
		t.Helper()
		code, err := h.upstream.AuthorizeApp(ctx, app.ClientID, as, redirect)
		if err != nil {
			t.Fatal(err)
		}
		return h.ConnectCode(ctx, p, "code="+code+"&state=s", state)
	}
	if err := connect(a, ann, "another"); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("with another state: %v", err)
	}
	if err := h.ConnectCode(ctx, a, "error=access_denied&state=s", "s"); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("denied: %v", err)
	}
	if err := h.ConnectCode(ctx, a, "code=nonsense&state=s", "s"); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("with a wrong code: %v", err)
	}
	if err := connect(k, ann, "s"); !errors.Is(err, ErrNoMeetings) {
		t.Errorf("another's account: %v", err)
	}
	if err := connect(a, ann, "s"); err != nil {
		t.Fatal(err)
	}
	if n := usedIn(tokens, api.ClassToken); n != 3 {
		t.Errorf("%d calls of the app's token endpoint are counted, want 3", n)
	}
	if n := usedIn(h.budgets[access.AccountName(k.ID)], api.ClassGlobal); n != 1 {
		t.Errorf("%d calls of a trial are counted, want 1", n)
	}
	account, err := h.Account(ctx, a.ID)
	if err != nil || account.Kind != access.AccountOAuth {
		t.Fatalf("connected: %+v, %v", account, err)
	}
	client, err := h.Client(account)
	if err != nil || client.Check(ctx) != nil || client.InlineContent() {
		t.Errorf("it is not read: %v", err)
	}
	if err := h.people.RemovePerson(ctx, access.ActorCommand, a.ID); err != nil {
		t.Fatal(err)
	}
	if err := client.Check(context.WithoutCancel(ctx)); !errors.Is(err, access.ErrNoAccount) {
		t.Errorf("a call after the person was removed: %v", err)
	}
}
