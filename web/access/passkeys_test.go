package access

import (
	"testing"

	"github.com/go-webauthn/webauthn/webauthn"
)

// A person has a bounded number of passkeys, and keeps one way in.
func TestPasskeysAreBounded(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)
	for i := range maxPasskeys {
		wantErr(t, "add", f.AddPasskey(ctx, ann.ID, "x", &webauthn.Credential{ID: []byte{1, byte(i)}}), nil)
	}
	wantErr(t, "one too many", f.AddPasskey(ctx, ann.ID, "x", &webauthn.Credential{ID: []byte{2}}), ErrManyKeys)
	wantErr(t, "another person's first", f.AddPasskey(ctx, bob.ID, "x", &webauthn.Credential{ID: []byte{3}}), nil)
	wantErr(t, "another person's again", f.AddPasskey(ctx, ann.ID, "x", &webauthn.Credential{ID: []byte{3}}), ErrKnownKey)
	wantErr(t, "remove another person's", f.RemovePasskey(ctx, ann.ID, []byte{3}), ErrNoPasskey)
	for i := range maxPasskeys - 1 {
		wantErr(t, "remove", f.RemovePasskey(ctx, ann.ID, []byte{1, byte(i)}), nil)
	}
	last := []byte{1, maxPasskeys - 1}
	wantErr(t, "remove the only one", f.RemovePasskey(ctx, ann.ID, last), ErrOnlyPasskey)
	wantErr(t, "set a password", f.SetPassword(ctx, ActorCommand, ann.ID, password, 0), nil)
	wantErr(t, "remove it beside a password", f.RemovePasskey(ctx, ann.ID, last), nil)
	_, err := f.PersonByClaims(ctx, Claims{Issuer: "https://id.example", Subject: "1", Address: "bob@example.com", Verified: true}, Entrance{Join: JoinInvited})
	wantErr(t, "sign in at a provider", err, nil)
	wantErr(t, "remove it beside a provider", f.RemovePasskey(ctx, bob.ID, []byte{3}), nil)
	if keys, err := f.Passkeys(ctx, ann.ID); err != nil || len(keys) != 0 {
		t.Errorf("%d passkeys are left, %v", len(keys), err)
	}
}
