package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"minutebook/archive"
	"minutebook/config"
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
		people.AddAddress(t.Context(), access.ActorCommand, bob.ID, "robert@old.example"),
		people.RemoveAddress(t.Context(), access.ActorCommand, bob.ID, "bob@acme.example"))
	if err != nil {
		t.Fatal(err)
	}
	if now, err := r.Present(t.Context()); err != nil || now.Person != "bob@new.example" || !slices.Contains(now.Aliases, "robert@old.example") || now.Channel.Name() != r.Channel.Name() {
		t.Errorf("with another address: %q, %v", now.Person, err)
	}
	if err := people.RemovePerson(t.Context(), access.ActorCommand, bob.ID); err != nil {
		t.Fatal(err)
	}
	if now, err := r.Present(t.Context()); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("who was removed gets digests as %q: %v", now.Person, err)
	}
}

// TestTheLastChannelGoes removes the only channel, which fails, by a reload: nothing of it is
// left for a channel that is named like it later.
func TestTheLastChannelGoes(t *testing.T) {
	t.Parallel()
	l := startLoaded(t)
	reload := func(hooks ...config.Notice) {
		l.mu.Lock()
		l.next.Notify.Hooks = hooks
		l.mu.Unlock()
		if _, err := l.loadAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reload(config.Notice{Name: "phone", URL: "http://127.0.0.1:1", Format: notify.FormatNtfy})
	if err := l.notifier.Begin(t.Context(), notify.Condition{Key: "key", Title: "title"}); err != nil {
		t.Fatal(err)
	}
	if states := l.notifier.States(); len(states) != 1 || states[0].Waiting == 0 {
		t.Fatalf("a channel that fails: %+v", states)
	}
	reload()
	eventually(t, "the channel goes", func() (bool, any) { states := l.notifier.States(); return len(states) == 0, states })
	if kept, err := l.archive.Mark(t.Context(), notifyKey); err != nil || strings.Contains(string(kept), "phone") {
		t.Errorf("kept %s, %v", kept, err)
	}
}
