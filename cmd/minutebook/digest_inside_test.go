package main

import (
	"errors"
	"testing"

	"minutebook/archive"
	"minutebook/internal/notify"
	"minutebook/web/access"
)

// TestDigestReaderIsThePersonOfTheMoment changes people after the readers of digests were
// listed.
func TestDigestReaderIsThePersonOfTheMoment(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	people, err := l.Access(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bob, err := people.AddPerson(t.Context(), access.ActorCommand, "bob@acme.example", "Bob", false)
	if err != nil {
		t.Fatal(err)
	}
	r := newPersonReader(&notify.Mail{}, people, bob)
	err = errors.Join(people.AddAddress(t.Context(), access.ActorCommand, bob.ID, "bob@new.example"),
		people.RemoveAddress(t.Context(), access.ActorCommand, bob.ID, "bob@acme.example"))
	if err != nil {
		t.Fatal(err)
	}
	if now, err := r.Present(t.Context()); err != nil || now.Person != "bob@new.example" || now.Channel.Name() != r.Channel.Name() {
		t.Errorf("with another address: %q, %v", now.Person, err)
	}
	if err := people.RemovePerson(t.Context(), access.ActorCommand, bob.ID); err != nil {
		t.Fatal(err)
	}
	if now, err := r.Present(t.Context()); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("who was removed gets digests as %q: %v", now.Person, err)
	}
}
