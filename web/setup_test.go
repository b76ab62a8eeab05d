package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"minutebook/web/access"
	"minutebook/web/accounts"
)

// TestTheFirstAccountHasAnOwner adds the first account: the form proposes the admin's address,
// and the account is kept with the one that was sent.
func TestTheFirstAccountHasAnOwner(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[],"next_cursor":null}`)
	}))
	t.Cleanup(service.Close)
	var added []accounts.Trial
	s := newEntrySiteWith(t, access.Options{}, func(o *Options) {
		o.Setup = &Setup{Accounts: func() []string { return nil }, Add: func(_ context.Context, _ string, trial accounts.Trial) error {
			added = append(added, trial)
			return nil
		}}
	})
	s.signIn("boss@acme.example", true)
	s.wants(http.StatusOK, "GET", "/setup", nil, `name="email" value="boss@acme.example"`)
	form := url.Values{"address": {service.URL}, "key": {""}, "email": {"ann@acme.example"}}
	s.wants(http.StatusUnprocessableEntity, "POST", "/setup/account", form, `name="email" value="ann@acme.example"`)
	form.Set("key", "key-of-ann")
	s.wants(http.StatusSeeOther, "POST", "/setup/account", form, "/setup")
	if len(added) != 1 || added[0].Email != "ann@acme.example" || added[0].Key != "key-of-ann" {
		t.Errorf("added: %+v", added)
	}
}
