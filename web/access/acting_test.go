package access

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"minutebook/internal/testrun"
)

// TestWhoIsSignedOutFinishesNothing begins every change of a person as somebody who is
// signed in, and ends that before the change is written.
func TestWhoIsSignedOutFinishesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	f := newFixture(t)
	f.add(t, "boss@example.com", true)
	for end, fn := range map[string]func(p Person) error{
		"nothing ends":     func(Person) error { return nil },
		"all sessions end": func(p Person) error { _, err := f.EndSessions(t.Context(), ActorCommand, p.ID); return err },
		"a reset": func(p Person) error {
			_, err := f.AcceptInvitationByPasskey(t.Context(), f.invite(t, p), "x", &webauthn.Credential{ID: []byte(p.Address() + "reset")})
			return err
		},
		"no admin any more": func(p Person) error { return f.SetAdmin(t.Context(), ActorCommand, p.ID, false) },
		"removal":           func(p Person) error { return f.RemovePerson(t.Context(), ActorCommand, p.ID) },
	} {
		other := f.add(t, "other@"+strings.ReplaceAll(end, " ", "-")+".example", false)
		for i, act := range []struct {
			name string
			fn   func(d *DB, p Person) error
		}{
			{"set the password", func(d *DB, p Person) error {
				return d.SetPassword(ActingAs(t.Context(), p), p.Actor(), p.ID, password, 0)
			}},
			{"add a passkey", func(d *DB, p Person) error {
				return d.AddPasskey(ActingAs(t.Context(), p), p.ID, "x", &webauthn.Credential{ID: []byte(p.Address())})
			}},
			{"make a token", func(d *DB, p Person) error {
				_, _, err := d.CreateToken(ActingAs(t.Context(), p), p.Actor(), p.ID, "x", []Scope{ScopeRead}, f.now.Add(time.Hour))
				return err
			}},
			{"add a person", func(d *DB, p Person) error {
				_, err := d.AddPerson(ActingAs(t.Context(), p), p.Actor(), "new-"+p.Address(), "", true)
				return err
			}},
			{"invite another", func(d *DB, p Person) error {
				_, _, err := d.Invite(ActingAs(t.Context(), p), p.Actor(), other.ID)
				return err
			}},
			{"add an address", func(d *DB, p Person) error {
				return d.AddAddress(ActingAs(t.Context(), p), p.Actor(), other.ID, "alias-"+p.Address())
			}},
		} {
			p := f.add(t, string(rune('a'+i))+"@"+strings.ReplaceAll(end, " ", "-")+".example", true)
			if err := fn(p); err != nil {
				t.Fatalf("%s: %v", end, err)
			}
			want := ErrNoSession
			if end == "nothing ends" {
				want = nil
			}
			if err := act.fn(f.DB, p); !errors.Is(err, want) {
				t.Errorf("%s, then %s: %v, want %v", end, act.name, err, want)
			}
		}
	}
	f.checkChain(t, "at the end")
}
