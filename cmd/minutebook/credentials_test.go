package main

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/config"
)

// TestAConnectionMadeAnewHasAnotherHolder shows a meeting to an account whose
// connection is renewed and then made again, perhaps by another person.
func TestAConnectionMadeAnewHasAnotherHolder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const ann = "ann@acme.example"
	cfg := &config.Config{DataDir: filepath.Join(t.TempDir(), "data"), Accounts: []config.Account{{Name: "work", Email: ann, OAuth: &config.OAuth{}}}}
	app, err := openApp(ctx, cfg, zerolog.Nop(), appOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	if err := app.setAccounts(ctx); err != nil {
		t.Fatal(err)
	}
	store := tokenStore{app}
	for _, step := range []struct {
		name, connection, access string
		show                     bool // the account is shown the meeting after it
		want                     int
	}{
		{"connected first", "one", "a", true, 1},
		{"renewed", "one", "b", false, 1},
		{"connected again", "two", "c", false, 0},
		{"and renewed", "two", "d", false, 0},
		{"and shown it", "two", "d", true, 1},
	} {
		if err := store.SaveToken(ctx, "work", fmt.Appendf(nil, `{"access_token": %q, "connection": %q}`, step.access, step.connection)); err != nil {
			t.Fatal(err)
		}
		if step.show {
			o, err := archive.FromMeeting("work", archive.SourceList, time.Now(), []byte(`{"recording_id": 1, "title": "t", "shared_with": "no_teams", "recorded_by": {"email": "kim@acme.example"}}`))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.archive.Apply(ctx, []archive.Observation{o}); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := app.archive.List(ctx, archive.ListQuery{Viewer: archive.ViewerWith(ann)})
		if err != nil || len(rows) != step.want {
			t.Errorf("%s: ann sees %d meetings, %v; want %d", step.name, len(rows), err, step.want)
		}
	}
}

// TestRenewedTokensLeaveTheAccounts renews a token while another configuration is loaded: its
// accounts are stored already, and the former one is still in force.
func TestRenewedTokensLeaveTheAccounts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const bob = "bob@acme.example"
	cfg := &config.Config{DataDir: filepath.Join(t.TempDir(), "data"), Accounts: []config.Account{{Name: "work", OAuth: &config.OAuth{}}}}
	app, err := openApp(ctx, cfg, zerolog.Nop(), appOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	renew := func(access string) {
		t.Helper()
		if err := (tokenStore{app}).SaveToken(ctx, "work", fmt.Appendf(nil, `{"access_token": %q, "connection": "one"}`, access)); err != nil {
			t.Fatal(err)
		}
	}
	renew("a")
	next := *cfg
	next.Accounts = append(next.Accounts, config.Account{Name: "bob", Email: bob, APIKey: "k"})
	if err := app.storeAccounts(ctx, &next, nil); err != nil {
		t.Fatal(err)
	}
	o, err := archive.FromMeeting("bob", archive.SourceList, time.Now(), []byte(`{"recording_id": 1, "title": "t", "shared_with": "no_teams", "recorded_by": {"email": "kim@acme.example"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.archive.Apply(ctx, []archive.Observation{o}); err != nil {
		t.Fatal(err)
	}
	renew("b")
	if rows, err := app.archive.List(ctx, archive.ListQuery{Viewer: archive.ViewerWith(bob)}); err != nil || len(rows) != 1 {
		t.Errorf("bob, whose account was just added, sees %d meetings, %v", len(rows), err)
	}
}
