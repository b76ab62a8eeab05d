package access

import (
	"errors"
	"fmt"
	"slices"
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

	// The admin gives both addresses to somebody else, who then sees their meetings.
	cleo := f.add(t, "cleo@example.com", false)
	for _, address := range []string{"bob@example.com", "ann@example.com", "anna@example.com"} {
		wantErr(t, "give "+address+" to Cleo", f.AddAddress(t.Context(), ActorCommand, cleo.ID, address), nil)
	}
	_, err = f.Join(t.Context(), "bob@example.com", "")
	wantErr(t, "the proxy's word for an alias of another", err, ErrOut)
	unknown := claims
	unknown.Subject = "8"
	for name, c := range map[string]Claims{"the same identity": claims, "the same subject by another alias": renamed, "another subject": unknown} {
		p, err := f.PersonByClaims(t.Context(), c, rules)
		wantErr(t, fmt.Sprintf("%s enters as %q", name, p.Addresses), err, ErrOut)
	}
	cleos, err := f.PersonByClaims(t.Context(), Claims{Issuer: claims.Issuer, Subject: "9", Address: "cleo@example.com", Verified: true}, rules)
	if err != nil || cleos.ID != cleo.ID {
		t.Errorf("Cleo enters as %q: %v", cleos.Addresses, err)
	}
	for _, address := range []string{"bob@example.com", "ann@example.com"} {
		wantErr(t, "take "+address+" from Cleo", f.RemoveAddress(t.Context(), ActorCommand, cleo.ID, address), nil)
	}

	f.add(t, "ann@example.com", false)
	again, err := f.PersonByClaims(t.Context(), claims, rules)
	if err != nil || again.ID == ann.ID {
		t.Errorf("added again by an admin: %+v, %v", again, err)
	}
}

// Ann has the address of Cleo, who was removed, as an alias, and it becomes Ann's main one when
// Ann's former main address is taken. Cleo enters by it no more than before.
func TestAnAliasThatBecomesTheMainAddressLetsNobodyIn(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	f.add(t, "boss@example.com", true)
	claims := Claims{Issuer: "https://id.example", Subject: "cleo", Address: "cleo@example.com", Verified: true}
	cleo, err := f.PersonByClaims(ctx, claims, Entrance{Join: JoinDomain, Domains: []string{"example.com"}})
	wantErr(t, "Cleo joins", err, nil)
	wantErr(t, "remove Cleo", f.RemovePerson(ctx, ActorCommand, cleo.ID), nil)
	ann := f.add(t, "ann@example.com", true)
	for _, address := range []string{"cleo@example.com", "ann.new@example.com"} {
		wantErr(t, "give "+address, f.AddAddress(ctx, ActorCommand, ann.ID, address), nil)
	}
	wantErr(t, "take Ann's former address", f.RemoveAddress(ctx, ActorCommand, ann.ID, "ann@example.com"), nil)
	_, err = f.Join(ctx, "cleo@example.com", "")
	wantErr(t, "Cleo by the proxy's word", err, ErrOut)
	_, err = f.PersonByClaims(ctx, claims, Entrance{Join: JoinInvited})
	wantErr(t, "Cleo by the provider", err, ErrOut)
	claims.Subject = "another"
	_, err = f.PersonByClaims(ctx, claims, Entrance{Join: JoinInvited})
	wantErr(t, "Cleo by another subject", err, ErrOut)
	if p, err := f.Join(ctx, "ann.new@example.com", ""); err != nil || p.ID != ann.ID {
		t.Errorf("Ann enters by the new address as person %d: %v", p.ID, err)
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

// TestAnIdentityFollowsTheAddress moves an address from one person to another while its
// owner signs in for the first time: whom the identity becomes had the address then.
func TestAnIdentityFollowsTheAddress(t *testing.T) {
	f, ctx := newFixture(t), t.Context()
	people := []Person{f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)}
	for round := range 60 {
		from, to := people[round%2], people[(round+1)%2]
		address := fmt.Sprintf("shared%d@example.com", round)
		wantErr(t, "add the address", f.AddAddress(ctx, ActorCommand, from.ID, address), nil)
		var all sync.WaitGroup
		all.Go(func() {
			err := errors.Join(f.RemoveAddress(ctx, ActorCommand, from.ID, address), f.AddAddress(ctx, ActorCommand, to.ID, address))
			if err != nil {
				t.Error(err)
			}
		})
		// It fails between the two changes. Each round has an issuer of its own, at which a person has one subject.
		got, err := f.PersonByClaims(ctx, Claims{Issuer: fmt.Sprintf("https://%d.example", round), Subject: "1", Address: address, Verified: true}, Entrance{Join: JoinInvited})
		all.Wait()
		if err == nil && !slices.Contains(got.Addresses, address) {
			t.Fatalf("round %d: %s has become %v", round, address, got.Addresses)
		}
		if err != nil && !errors.Is(err, ErrNotInvited) {
			t.Fatal(err)
		}
		events, err := f.Events(ctx, EventQuery{Limit: 3})
		wantErr(t, "events", err, nil)
		holder := from.ID
		for _, e := range events {
			switch {
			case e.Kind == AddressRemoved:
				holder = 0
			case e.Kind == AddressAdded:
				holder = e.IDs.Person
			case e.Kind == IdentityLinked && e.IDs.Person != holder:
				t.Fatalf("round %d: the identity became person %d while person %d had the address", round, e.IDs.Person, holder)
			}
		}
	}
}
