package access

import (
	"sync"
	"testing"
)

// Who is removed does not come back by signing in elsewhere: neither by the proxy's
// word, nor by a provider's under the same address or the same subject.
func TestRemovedPersonDoesNotJoinAgain(t *testing.T) {
	f := newFixture(t)
	f.add(t, "boss@example.com", true)
	rules := Entrance{Join: JoinDomain, Domains: []string{"example.com"}}
	claims := Claims{Issuer: "https://id.example", Subject: "7", Address: "ann@example.com", Verified: true}
	ann, err := f.PersonByClaims(t.Context(), claims, rules)
	wantErr(t, "join by the provider", err, nil)
	bob, err := f.Join(t.Context(), "Bob@example.com", "Bob")
	wantErr(t, "join by the proxy", err, nil)
	for _, p := range []Person{ann, bob} {
		wantErr(t, "remove", f.RemovePerson(t.Context(), ActorCommand, p.ID), nil)
	}
	_, err = f.Join(t.Context(), "bob@example.com", "")
	wantErr(t, "the proxy's word", err, ErrOut)
	_, err = f.PersonByClaims(t.Context(), claims, rules)
	wantErr(t, "the same identity", err, ErrOut)
	renamed := claims
	renamed.Address = "anna@example.com"
	_, err = f.PersonByClaims(t.Context(), renamed, rules)
	wantErr(t, "the same subject under another address", err, ErrOut)

	f.add(t, "ann@example.com", false)
	again, err := f.PersonByClaims(t.Context(), claims, rules)
	if err != nil || again.ID == ann.ID {
		t.Errorf("added again by an admin: %+v, %v", again, err)
	}
}

func TestOnePersonJoinsOnce(t *testing.T) {
	f := newFixture(t)
	people, errs := make([]Person, 4), make([]error, 4)
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() { people[i], errs[i] = f.Join(t.Context(), "ann@example.com", "") })
	}
	all.Wait()
	for i, p := range people {
		if errs[i] != nil || p.ID != people[0].ID {
			t.Errorf("join %d: %+v, %v", i, p, errs[i])
		}
	}
}

// A provider's address that only looks like another one is none of that person's.
func TestAddressesThatLookAlike(t *testing.T) {
	f := newFixture(t)
	kate := f.add(t, "kate.miller@example.com", true)
	for i, address := range []string{"\u212Aate.miller@example.com", "kate.m\u0130ller@example.com", "\uFF4Bate.miller@example.com", "kate.miller@example.com."} {
		p, err := f.PersonByClaims(t.Context(), Claims{Issuer: "https://id.example", Subject: address, Address: address, Verified: true}, Entrance{Join: JoinInvited})
		if err == nil {
			t.Errorf("address %d signs in as %v, who is %v", i, p.ID, kate.ID)
		}
	}
}
