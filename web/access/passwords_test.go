package access

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"minutebook/api"
	"minutebook/internal/testrun"
)

// Nothing tells an address that nobody has from a wrong password.
func TestSignInFailsAlike(t *testing.T) {
	testrun.SkipUnderRace(t)
	f := newFixture(t)
	f.add(t, "boss@example.com", true)
	ann, bob := f.add(t, "ann@example.com", false), f.add(t, "bob@example.com", false)
	f.add(t, "new@example.com", false)
	for _, p := range []Person{ann, bob} {
		wantErr(t, "set a password", f.SetPassword(t.Context(), ActorCommand, p.ID, password, 0), nil)
	}
	if p, err := f.CheckPassword(t.Context(), " ANN@example.com", password); err != nil || p.ID != ann.ID {
		t.Fatalf("the right password: %+v, %v", p, err)
	}
	f.putUsers(t, map[string]string{"bob@example.com": api.StatusDeactivated})
	for _, tt := range []struct{ address, password string }{
		{"ann@example.com", "another password"}, {"ann@example.com", ""}, {"nobody@example.com", password}, {"nobody@example.com", "nobody's password"},
		{"new@example.com", "nobody's password"}, {"bob@example.com", password}, {"", ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := f.CheckPassword(t.Context(), tt.address, tt.password)
		runtime.ReadMemStats(&after)
		wantErr(t, tt.address, err, ErrSignIn)
		if took := after.TotalAlloc - before.TotalAlloc; took < uint64(passwordCost().Memory)<<10 {
			t.Errorf("%s: a sign-in took %d bytes: no password was computed, which its time tells", tt.address, took)
		}
		if err.Error() != ErrSignIn.Error() {
			t.Errorf("%s: %q says more than the others", tt.address, err)
		}
	}
	events, err := f.Events(t.Context(), EventQuery{Limit: 7})
	if err != nil || len(events) != 7 || events[0].Kind != SignInFailed || events[0].IDs.Person != ann.ID || events[2].IDs.Person != 0 {
		t.Errorf("the audit: %+v, %v", events, err)
	}
}

// The work for an address that nobody has is that for any other.
func TestNobodysHashHasTheCostOfPasswords(t *testing.T) {
	params, _, _, err := argon2id.DecodeHash(nobodysHash)
	if err != nil || *params != *passwordCost() {
		t.Errorf("%+v, want %+v; %v", params, passwordCost(), err)
	}
}

func TestPasswordHasALength(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	for _, bad := range []string{"", strings.Repeat("x", MinPassword-1), strings.Repeat("x", MaxPassword+1)} {
		wantErr(t, "a bad password", f.SetPassword(t.Context(), ann.Actor(), ann.ID, bad, 0), ErrPassword)
	}
}

// Who changes the password stays signed in, and nobody else does.
func TestNewPasswordEndsTheOtherSessions(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	ownSession, other := f.begin(t, ann), f.begin(t, ann)
	s, _, err := f.Session(t.Context(), ownSession)
	wantErr(t, "my session", err, nil)
	wantErr(t, "set a password", f.SetPassword(t.Context(), ann.Actor(), ann.ID, password, s.ID), nil)
	f.wantSession(t, "mine", ownSession, true)
	f.wantSession(t, "the other one", other, false)
}

// A third password waits for its turn, and no longer than its request. A test that only
// ended the request would see the database refuse it before its turn.
func TestTwoPasswordsAreComputedAtATime(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	for range 2 { // as is said in docs/access.md
		f.hashing <- struct{}{}
	}
	tried := make(chan string)
	try := func(name string, want error, fn func() error) {
		err := fn()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		tried <- name
	}
	go try("a sign-in", ErrSignIn, func() error {
		_, err := f.CheckPassword(t.Context(), "nobody@example.com", password)
		return err
	})
	go try("a new password", nil, func() error { return f.SetPassword(t.Context(), ActorCommand, ann.ID, password, 0) })
	select {
	case name := <-tried:
		t.Fatalf("%s does not wait for the two before it", name)
	case <-time.After(time.Second / 2): // many times as long as a password takes
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, "a request that has ended", f.compute(gone, func() error { return nil }), context.Canceled)
	for range 2 {
		<-f.hashing
	}
	<-tried
	<-tried
	err := f.compute(t.Context(), func() error {
		if len(f.hashing) != 1 {
			t.Error("a password that is computed leaves its place to others")
		}
		return nil
	})
	wantErr(t, "a password alone", err, nil)
}
