package access

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// claimsOf returns the claims of a provider about the person with an address.
func claimsOf(address string) Claims {
	subject, _, _ := strings.Cut(address, "@")
	return Claims{Issuer: "https://id.example", Subject: subject, Address: address, Verified: true}
}

// enter signs a person in by the provider's claims.
func (f *fixture) enter(t *testing.T, c Claims) (p Person, session string) {
	t.Helper()
	p, err := f.PersonByClaims(t.Context(), c, Entrance{Join: JoinInvited})
	if err == nil {
		session, _, err = f.BeginSession(t.Context(), p, MethodOIDC)
	}
	wantErr(t, c.Address+" signs in", err, nil)
	return p, session
}

// TestAnAliasThatIsTakenLetsNobodyIn gives Ann the address of Xavier by mistake. He enters by it
// and makes himself other ways in. Once the alias is taken, whatever he made is gone and
// whatever Ann had before is there, and each of the two enters as themselves.
func TestAnAliasThatIsTakenLetsNobodyIn(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	ended := 0
	f.endOutlets = func(context.Context, int64) error { ended++; return nil }
	f.add(t, "boss@example.com", true)
	ann := f.add(t, "ann@example.com", false)
	makeToken := func() string {
		secret, _, err := f.CreateToken(ctx, ann.Actor(), ann.ID, "x", []Scope{ScopeRead}, f.now.Add(SessionLife))
		wantErr(t, "make a token", err, nil)
		return secret
	}
	wantErr(t, "Ann's passkey", f.AddPasskey(ctx, ann.ID, "Ann's", &webauthn.Credential{ID: []byte("a")}), nil)
	anns := makeToken()
	wantErr(t, "give the alias", f.AddAddress(ctx, ActorCommand, ann.ID, "xavier@example.com"), nil)
	f.now = f.now.Add(time.Hour)
	xavier := claimsOf("xavier@example.com")
	f.enter(t, xavier)
	byToken := makeToken()
	wantErr(t, "Xavier's passkey", f.AddPasskey(ctx, ann.ID, "Xavier's", &webauthn.Credential{ID: []byte("x")}), nil)
	wantErr(t, "Xavier's password", f.SetPassword(ctx, ann.Actor(), ann.ID, password, 0), nil)
	byPassword := f.begin(t, ann)
	_, bySession := f.enter(t, xavier)
	byInvitation := f.invite(t, ann)
	underWay, err := f.PersonByClaims(ctx, xavier, Entrance{Join: JoinInvited})
	wantErr(t, "Xavier begins to sign in", err, nil)

	wantErr(t, "take the alias", f.RemoveAddress(ctx, ActorCommand, ann.ID, "xavier@example.com"), nil)
	f.wantSession(t, "Xavier's by the provider", bySession, false)
	f.wantSession(t, "Xavier's by the password", byPassword, false)
	_, _, err = f.Token(ctx, byToken)
	wantErr(t, "Xavier's token", err, ErrNoToken)
	_, _, err = f.Token(ctx, anns)
	wantErr(t, "Ann's token", err, nil)
	if keys, err := f.Passkeys(ctx, ann.ID); err != nil || len(keys) != 1 || keys[0].Label != "Ann's" {
		t.Errorf("Ann has the passkeys %v, %v", keys, err)
	}
	_, err = f.CheckPassword(ctx, "ann@example.com", password)
	wantErr(t, "Xavier's password", err, ErrSignIn)
	_, err = f.Invitation(ctx, byInvitation)
	wantErr(t, "a link that may have been sent there", err, ErrUsed)
	_, _, err = f.BeginSession(ctx, underWay, MethodOIDC)
	wantErr(t, "a sign-in that was under way", err, ErrOut)
	if ended != 1 {
		t.Errorf("feeds and webhooks ended %d times", ended)
	}
	_, err = f.PersonByClaims(ctx, xavier, Entrance{Join: JoinInvited})
	wantErr(t, "Xavier, whom nobody has invited", err, ErrNotInvited)
	own := f.add(t, "xavier@example.com", false)
	for _, want := range []Person{own, ann} {
		if got, _ := f.enter(t, claimsOf(want.Address())); got.ID != want.ID {
			t.Errorf("%s enters as person %d, not %d", want.Address(), got.ID, want.ID)
		}
	}
	f.checkChain(t, "at the end")
}

// TestAPasswordByAnInvitationEndsWithTheAlias: the owner of an alias accepts an invitation for the
// person who has it.
func TestAPasswordByAnInvitationEndsWithTheAlias(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	ann := f.add(t, "ann@example.com", true)
	wantErr(t, "give the alias", f.AddAddress(ctx, ActorCommand, ann.ID, "xavier@example.com"), nil)
	f.enter(t, claimsOf("xavier@example.com"))
	_, err := f.AcceptInvitation(ctx, f.invite(t, ann), password)
	wantErr(t, "Xavier accepts", err, nil)
	wantErr(t, "take the alias", f.RemoveAddress(ctx, ActorCommand, ann.ID, "xavier@example.com"), nil)
	_, err = f.CheckPassword(ctx, "ann@example.com", password)
	wantErr(t, "Xavier's password", err, ErrSignIn)
}

// TestAnAddressThatIsTakenMovesItsIdentity gives an alias to another person, who is then the
// one as whom its owner enters, with either order of the sign-ins.
func TestAnAddressThatIsTakenMovesItsIdentity(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", true)
	wantErr(t, "give Ann the alias", f.AddAddress(ctx, ActorCommand, ann.ID, "robert@example.com"), nil)
	f.enter(t, claimsOf("robert@example.com"))
	wantErr(t, "take it", f.RemoveAddress(ctx, ActorCommand, ann.ID, "robert@example.com"), nil)
	wantErr(t, "give Bob the alias", f.AddAddress(ctx, ActorCommand, bob.ID, "robert@example.com"), nil)
	if got, _ := f.enter(t, claimsOf("robert@example.com")); got.ID != bob.ID {
		t.Errorf("its owner enters as person %d", got.ID)
	}
}

// TestANewAddressAtTheProviderKeepsThePerson: the provider gives Ann another address. Whoever
// has it as a further one enters by it, and the former one can be taken without a loss of anything
// that the person has made, before they have entered by the new one or after.
func TestANewAddressAtTheProviderKeepsThePerson(t *testing.T) {
	for name, entersBetween := range map[string]bool{"entered by the new one": true, "not yet": false} {
		t.Run(name, func(t *testing.T) {
			f, ctx := newFixture(t), t.Context()
			ann := f.add(t, "ann@example.com", true)
			claims := claimsOf("ann@example.com")
			f.enter(t, claims)
			token, _, err := f.CreateToken(ctx, ann.Actor(), ann.ID, "x", []Scope{ScopeRead}, f.now.Add(SessionLife))
			wantErr(t, "make a token", err, nil)
			wantErr(t, "Ann's password", f.SetPassword(ctx, ann.Actor(), ann.ID, password, 0), nil)
			claims.Address = "ann@new.example"
			f.enter(t, claims) // by the subject alone
			wantErr(t, "give the new address", f.AddAddress(ctx, ActorCommand, ann.ID, "ann@new.example"), nil)
			session := ""
			if entersBetween {
				_, session = f.enter(t, claims)
			}
			wantErr(t, "take the former address", f.RemoveAddress(ctx, ActorCommand, ann.ID, "ann@example.com"), nil)
			if entersBetween {
				f.wantSession(t, "by the new address", session, true)
			}
			_, _, err = f.Token(ctx, token)
			wantErr(t, "the token", err, nil)
			_, err = f.CheckPassword(ctx, "ann@new.example", password)
			wantErr(t, "the password", err, nil)
			if got, _ := f.enter(t, claims); got.ID != ann.ID {
				t.Errorf("Ann enters as person %d", got.ID)
			}
		})
	}
}

// TestIdentitiesOfEarlierVersions have no known address. They enter as before until any address
// of their person is taken, and then by an address that the person has.
func TestIdentitiesOfEarlierVersions(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	ann := f.add(t, "ann@example.com", true)
	wantErr(t, "give an alias", f.AddAddress(ctx, ActorCommand, ann.ID, "xavier@example.com"), nil)
	f.enter(t, claimsOf("xavier@example.com"))
	forget := func() {
		_, err := f.db.W.Exec(`UPDATE identities SET address = NULL`)
		wantErr(t, "forget the address", err, nil)
	}
	forget()
	renamed := claimsOf("xavier@example.com")
	renamed.Address = "another@example.com"
	f.enter(t, renamed)
	wantErr(t, "take the alias", f.RemoveAddress(ctx, ActorCommand, ann.ID, "xavier@example.com"), nil)
	for _, c := range []Claims{renamed, claimsOf("xavier@example.com")} {
		_, err := f.PersonByClaims(ctx, c, Entrance{Join: JoinInvited})
		wantErr(t, c.Address, err, ErrNotInvited)
	}
	f.enter(t, claimsOf("ann@example.com"))
	forget()
	wantErr(t, "give an alias", f.AddAddress(ctx, ActorCommand, ann.ID, "old@example.com"), nil)
	wantErr(t, "take it", f.RemoveAddress(ctx, ActorCommand, ann.ID, "old@example.com"), nil)
	if got, _ := f.enter(t, claimsOf("ann@example.com")); got.ID != ann.ID {
		t.Errorf("Ann enters as person %d", got.ID)
	}
}
