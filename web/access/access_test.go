package access

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/archivetest"
)

// fixture is an access.db over an empty archive, with a clock that tests move.
type fixture struct {
	*DB
	archive *archive.Archive
	now     time.Time
}

func newFixture(t *testing.T) *fixture { return openFixture(t, archivetest.Dir(t)) }

func openFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	return fixtureOf(t, archivetest.Open(t, dir))
}

func fixtureOf(t *testing.T, a *archive.Archive) *fixture {
	t.Helper()
	f := &fixture{archive: a, now: archivetest.Epoch}
	db, err := Open(t.Context(), Options{Archive: f.archive, Now: func() time.Time { return f.now }, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	f.DB = db
	return f
}

// add adds a person.
func (f *fixture) add(t *testing.T, address string, admin bool) Person {
	t.Helper()
	p, err := f.AddPerson(t.Context(), ActorCommand, address, "", admin)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// again reads a person as they are now.
func (f *fixture) again(t *testing.T, p Person) Person {
	t.Helper()
	now, err := f.Person(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// begin begins a session of a person.
func (f *fixture) begin(t *testing.T, p Person) string {
	t.Helper()
	secret, _, err := f.BeginSession(t.Context(), f.again(t, p), MethodPassword)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// invite invites a person.
func (f *fixture) invite(t *testing.T, p Person) string {
	t.Helper()
	secret, _, err := f.Invite(t.Context(), ActorCommand, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// wantErr fails the test unless err is want; nil wants none.
func wantErr(t *testing.T, action string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", action, err, want)
	}
}

// wantSession fails the test unless the secret opens a session, or none.
func (f *fixture) wantSession(t *testing.T, action, secret string, open bool) {
	t.Helper()
	_, _, err := f.Session(t.Context(), secret)
	if open && err != nil || !open && !errors.Is(err, ErrNoSession) {
		t.Fatalf("%s: the session: %v; want it open: %v", action, err, open)
	}
	people, err := f.People(t.Context())
	wantErr(t, "people", err, nil)
	states, err := f.SignedInStates(t.Context())
	wantErr(t, "states", err, nil)
	all := 0
	for _, p := range people {
		list, err := f.Sessions(t.Context(), p.ID)
		wantErr(t, "sessions", err, nil)
		all += len(list)
		if states[p.ID].Sessions != len(list) || len(list) > 0 && !states[p.ID].LastSeen.Equal(list[0].SeenAt) {
			t.Errorf("%s: %+v, and the sessions %+v", action, states[p.ID], list)
		}
	}
	if n, err := f.CountSessions(t.Context()); n != all || err != nil {
		t.Errorf("%s: %d sessions are counted, %v; %d are open", action, n, err, all)
	}
}

// putUsers puts the users that the directory lists, by address and status.
func (f *fixture) putUsers(t *testing.T, statuses map[string]string) {
	t.Helper()
	var users []api.User
	for email, status := range statuses {
		users = append(users, api.User{Email: email, Status: status})
	}
	if err := f.archive.PutUsers(t.Context(), "local", users); err != nil {
		t.Fatal(err)
	}
}

// TestADatabaseThatFailsToOpenIsNotOpen: a later try opens it.
func TestADatabaseThatFailsToOpenIsNotOpen(t *testing.T) {
	dir := archivetest.Dir(t)
	wantErr(t, "close", openFixture(t, dir).archive.Close(), nil)
	path := filepath.Join(dir, Name)
	archivetest.Damage(t, path, `DELETE FROM known_epoch; CREATE TRIGGER full BEFORE INSERT ON known_epoch BEGIN SELECT raise(ABORT, 'full'); END`)
	a := archivetest.Open(t, dir)
	if _, err := Open(t.Context(), Options{Archive: a, Logger: zerolog.Nop()}); err == nil {
		t.Fatal("opened without its epoch")
	}
	archivetest.Damage(t, path, `DROP TRIGGER full`)
	fixtureOf(t, a)
}
