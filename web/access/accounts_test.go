package access

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive/archivetest"
)

const (
	serviceURL = "https://service.example/external/v1"
	secretText = "key-that-nobody-may-read-0123456789"
)

// newAccountFixture returns a fixture whose secrets are encrypted with the keys.
func newAccountFixture(t *testing.T, dir string, keys ...byte) *fixture {
	t.Helper()
	f := &fixture{archive: archivetest.Open(t, dir), now: archivetest.Epoch}
	o := Options{Archive: f.archive, Now: func() time.Time { return f.now }, Logger: zerolog.Nop()}
	for _, k := range keys {
		o.AccountKeys = append(o.AccountKeys, bytes.Repeat([]byte{k}, AccountKeySize))
	}
	db, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f.DB = db
	return f
}

func (f *fixture) connect(t *testing.T, p Person, secret string) Account {
	t.Helper()
	a, err := f.Connect(t.Context(), p.Actor(), Account{Person: p.ID, Address: p.Address(), BaseURL: serviceURL, Kind: AccountKey}, []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wantSecret fails unless the secret of a connection is opened, or is parked.
func (f *fixture) wantSecret(t *testing.T, when string, id int64, want string, parked error) {
	t.Helper()
	secret, err := f.AccountSecret(t.Context(), serviceURL, id)
	wantErr(t, when, err, parked)
	if string(secret) != want {
		t.Errorf("%s: another secret is opened", when)
	}
}

// TestAccountIsParkedAndGoesOn takes away, one after the other, all on which an account
// rests, and gives it back.
func TestAccountIsParkedAndGoesOn(t *testing.T) {
	t.Parallel()
	f, ctx := newAccountFixture(t, t.TempDir(), 1), t.Context()
	f.add(t, "boss@example.com", true)
	ann, bob := f.add(t, "ann@example.com", false), f.add(t, "bob@example.com", false)
	a := f.connect(t, ann, secretText)
	f.wantSecret(t, "connected", a.ID, secretText, nil)
	_, err := f.Connect(ctx, bob.Actor(), Account{Person: bob.ID, Address: bob.Address(), BaseURL: serviceURL}, []byte(secretText))
	wantErr(t, "the same key again", err, ErrConnected)
	_, err = f.Connect(ctx, bob.Actor(), Account{Person: bob.ID, Address: ann.Address(), BaseURL: serviceURL}, []byte("bobs"))
	wantErr(t, "with another's address", err, ErrNotYours)

	directory := func(status string) {
		t.Helper()
		f.putUsers(t, map[string]string{ann.Address(): status})
	}
	directory(api.StatusDeactivated)
	f.wantSecret(t, "deactivated", a.ID, "", ErrParked)
	directory(api.StatusActive)
	f.wantSecret(t, "active again", a.ID, secretText, nil)

	wantErr(t, "another address", f.AddAddress(ctx, ActorCommand, ann.ID, "ann@old.example"), nil)
	wantErr(t, "without the first", f.RemoveAddress(ctx, ActorCommand, ann.ID, ann.Address()), nil)
	f.wantSecret(t, "without the address", a.ID, "", ErrParked)
	wantErr(t, "the address again", f.AddAddress(ctx, ActorCommand, ann.ID, ann.Address()), nil)
	f.wantSecret(t, "with the address", a.ID, secretText, nil)

	if _, err := f.AccountSecret(ctx, "https://other.example/external/v1", a.ID); !errors.Is(err, ErrParked) {
		t.Errorf("for another service: %v", err)
	}
	again := f.connect(t, ann, "a new key")
	f.wantSecret(t, "the old connection", a.ID, "", ErrNoAccount)
	f.wantSecret(t, "the new connection", again.ID, "a new key", nil)
	wantErr(t, "tokens of the old connection", f.SaveAccountSecret(ctx, a.ID, []byte("x")), ErrNoAccount)
	changed := f.Changed()
	wantErr(t, "remove", f.RemovePerson(ctx, ActorCommand, ann.ID), nil)
	select {
	case <-changed:
	default:
		t.Error("nobody is told that a person was removed")
	}
	f.wantSecret(t, "removed", again.ID, "", ErrNoAccount)
	wantErr(t, "disconnect what is gone", f.Disconnect(ctx, ActorCommand, ann.ID), ErrNotFound)
	own := f.connect(t, bob, secretText) // whose key it is may connect it now
	wantErr(t, "disconnect", f.Disconnect(ctx, bob.Actor(), bob.ID), nil)
	f.wantSecret(t, "disconnected", own.ID, "", ErrNoAccount)
	f.checkChain(t, "at the end")
}

// TestASecretIsBoundToItsPerson exchanges the encrypted secrets of two people in the
// database: neither reads as the other.
func TestASecretIsBoundToItsPerson(t *testing.T) {
	t.Parallel()
	f, ctx := newAccountFixture(t, t.TempDir(), 1), t.Context()
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)
	a := f.connect(t, ann, secretText)
	wantErr(t, "an address that both had", f.AddAddress(ctx, ActorCommand, ann.ID, "ann@old.example"), nil)
	wantErr(t, "which passes on", f.RemoveAddress(ctx, ActorCommand, ann.ID, ann.Address()), nil)
	wantErr(t, "to the other", f.AddAddress(ctx, ActorCommand, bob.ID, ann.Address()), nil)
	b, err := f.Connect(ctx, bob.Actor(), Account{Person: bob.ID, Address: ann.Address(), BaseURL: serviceURL, Kind: a.Kind}, []byte("bobs"))
	wantErr(t, "connect", err, nil)
	_, err = f.db.W.ExecContext(ctx, `UPDATE accounts SET secret = (SELECT secret FROM accounts WHERE id = ?) WHERE id = ?`, a.ID, b.ID)
	wantErr(t, "exchange", err, nil)
	f.wantSecret(t, "with another's secret", b.ID, "", ErrParked)
}

// TestAccountKeysChange opens access.db with other keys: without the right one accounts
// are parked, and a new first key takes the secrets over.
func TestAccountKeysChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newAccountFixture(t, dir, 1)
	ann := f.add(t, "ann@example.com", true)
	a := f.connect(t, ann, secretText)
	for _, step := range []struct {
		name   string
		keys   []byte
		want   string
		parked error
	}{
		{"no key", nil, "", ErrParked},
		{"another key", []byte{2}, "", ErrParked},
		{"the key again", []byte{1}, secretText, nil},
		{"a new key before the old one", []byte{3, 1}, secretText, nil},
		{"the new key alone", []byte{3}, secretText, nil},
		{"the old key", []byte{1}, "", ErrParked},
	} {
		wantErr(t, "close", f.archive.Close(), nil)
		f = newAccountFixture(t, dir, step.keys...)
		f.wantSecret(t, step.name, a.ID, step.want, step.parked)
		list, err := f.Accounts(t.Context(), serviceURL)
		if err != nil || len(list) != 1 || (list[0].Parked != "") != (step.parked != nil) || list[0].Keyless != (len(step.keys) == 0) {
			t.Errorf("%s: listed as %+v, %v", step.name, list, err)
		}
	}
	wantErr(t, "close", f.archive.Close(), nil)
	f = newAccountFixture(t, dir)
	_, err := f.Connect(t.Context(), ann.Actor(), Account{Person: ann.ID, Address: ann.Address(), BaseURL: serviceURL}, []byte("x"))
	wantErr(t, "connect without a key", err, ErrNoAccountKey)
	if _, err := ParseAccountKeys("00"); err == nil {
		t.Error("a short key is taken")
	}
	keys, err := ParseAccountKeys("# of 2026\n" + strings.Repeat("0a", AccountKeySize) + "\n\n" + strings.Repeat("0b", AccountKeySize))
	if err != nil || len(keys) != 2 || keys[0][0] != 10 {
		t.Errorf("keys: %v, %v", keys, err)
	}
}

// TestSecretsOfAccountsAreInNoFile looks for a secret in all bytes of the data directory,
// and moves a secret to another person's row.
func TestSecretsOfAccountsAreInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newAccountFixture(t, dir, 1)
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)
	a, b := f.connect(t, ann, secretText), f.connect(t, bob, "bobs key")
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(secretText)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.db.W.ExecContext(context.Background(), `UPDATE accounts SET secret = (SELECT secret FROM accounts WHERE id = ?) WHERE id = ?`, a.ID, b.ID)
	wantErr(t, "move a secret", err, nil)
	f.wantSecret(t, "another's secret", b.ID, "", ErrParked)
	_, err = f.db.W.ExecContext(context.Background(), `UPDATE accounts SET base_url = 'https://thief.example' WHERE id = ?`, a.ID)
	wantErr(t, "change the service", err, nil)
	if secret, err := f.AccountSecret(t.Context(), "https://thief.example", a.ID); !errors.Is(err, ErrParked) || secret != nil {
		t.Errorf("a secret goes to another service: %v", err)
	}
}
