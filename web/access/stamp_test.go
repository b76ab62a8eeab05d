package access

import (
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// TestASignInThatWasOvertakenOpensNothing checks a password, changes the person before the
// session begins, and begins it.
func TestASignInThatWasOvertakenOpensNothing(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	f.add(t, "boss@example.com", true)
	ann := f.add(t, "ann@example.com", false)
	current := password
	wantErr(t, "set the password", f.SetPassword(ctx, ActorCommand, ann.ID, current, 0), nil)
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"the password was changed", func() error {
			current += "x"
			return f.SetPassword(ctx, ActorCommand, ann.ID, current, 0)
		}},
		{"the password was reset", func() error {
			_, err := f.AcceptInvitation(ctx, f.invite(t, ann), current)
			return err
		}},
		{"all sessions were ended", func() error {
			_, err := f.EndSessions(ctx, ActorCommand, ann.ID)
			return err
		}},
		{"the person was removed", func() error { return f.RemovePerson(ctx, ActorCommand, ann.ID) }},
	} {
		p, err := f.CheckPassword(ctx, "ann@example.com", current)
		wantErr(t, c.name+": check", err, nil)
		wantErr(t, c.name, c.change(), nil)
		_, _, err = f.BeginSession(ctx, p, MethodPassword)
		wantErr(t, c.name+": begin", err, ErrOut)
	}
	f.checkChain(t, "at the end")
}

// TestAResetEndsPasskeysAndTokens accepts an invitation of a person who has both.
func TestAResetEndsPasskeysAndTokens(t *testing.T) {
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)
	var secrets []string
	for i, p := range []Person{ann, bob} {
		secret, _, err := f.CreateToken(ctx, p.Actor(), p.ID, "x", []Scope{ScopeRead}, f.now.Add(time.Hour))
		wantErr(t, "make a token", err, nil)
		secrets = append(secrets, secret)
		wantErr(t, "add a passkey", f.AddPasskey(ctx, p.ID, "x", &webauthn.Credential{ID: []byte{byte(i)}}), nil)
	}
	_, err := f.AcceptInvitation(ctx, f.invite(t, ann), password)
	wantErr(t, "reset", err, nil)
	for i, want := range []error{ErrNoToken, nil} {
		_, _, err := f.Token(ctx, secrets[i])
		wantErr(t, "the token", err, want)
		keys, err := f.Passkeys(ctx, []int64{ann.ID, bob.ID}[i])
		if err != nil || len(keys) != i {
			t.Errorf("%d passkeys, %v", len(keys), err)
		}
	}
	wantErr(t, "a new passkey", f.AddPasskey(ctx, ann.ID, "x", &webauthn.Credential{ID: []byte{7}}), nil)
	_, err = f.AcceptInvitationByPasskey(ctx, f.invite(t, ann), "y", &webauthn.Credential{ID: []byte{8}})
	wantErr(t, "reset by a passkey", err, nil)
	if keys, err := f.Passkeys(ctx, ann.ID); err != nil || len(keys) != 1 || keys[0].Label != "y" {
		t.Errorf("passkeys %+v, %v", keys, err)
	}
	_, err = f.CheckPassword(ctx, "ann@example.com", password)
	wantErr(t, "the password that the passkey replaced", err, ErrSignIn)
	f.checkChain(t, "at the end")
}
