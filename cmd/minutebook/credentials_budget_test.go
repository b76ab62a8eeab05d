package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/config"
)

// The calls of the last minute are those of an API key, whatever its account is called, and
// of no other key.
func TestARenamedAccountKeepsItsBudget(t *testing.T) {
	ar, err := archive.Open(t.Context(), archive.Options{Dir: t.TempDir(), Create: true, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer ar.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"items": [], "next_cursor": null}`))
	}))
	defer service.Close()
	// used is how many calls count when a process begins to read an account.
	used := func(name, key string, call bool) int {
		t.Helper()
		app := &application{archive: ar, log: zerolog.Nop()}
		b := app.budget(newClientSet(), config.Account{Name: name, APIKey: key})
		if err := b.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := b.Snapshot()[0].Used
		if call {
			client, err := api.NewClient(api.ClientOptions{BaseURL: service.URL + "/external/v1", Credential: api.APIKey(key), Budget: b, Now: time.Now})
			if err == nil {
				err = client.Check(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	used("anna", "key-1", true)
	state, err := ar.Mark(t.Context(), "budget/key "+digestCredential("key-1"))
	if err != nil || state == nil {
		t.Fatalf("kept: %q, %v", state, err)
	}
	if err := ar.SaveBudget(t.Context(), "eva", state); err != nil { // as earlier versions did
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, key string
		want      int
	}{{"anna", "key-1", 1}, {"bert", "key-1", 1}, {"bert", "key-2", 0}, {"eva", "key-3", 1}} {
		if n := used(c.name, c.key, false); n != c.want {
			t.Errorf("%s with %s: %d calls count, want %d", c.name, c.key, n, c.want)
		}
	}
}
