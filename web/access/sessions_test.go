package access

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive/archivetest"
	"minutebook/archive/backup"
	"minutebook/internal/testrun"
)

func TestSessionEndsByItself(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	secret := f.begin(t, ann)
	started := f.now
	f.now = started.Add(SessionIdle - time.Second)
	f.wantSession(t, "a second before it is idle too long", secret, true)
	f.now = f.now.Add(SessionIdle)
	f.wantSession(t, "idle too long", secret, false)
	f.now = started.Add(SessionIdle)
	f.wantSession(t, "the clock is set back", secret, true)
	for f.now.Before(started.Add(SessionLife - 24*time.Hour)) {
		f.now = f.now.Add(24 * time.Hour)
		f.wantSession(t, "used daily, "+f.now.Sub(started).String(), secret, true)
	}
	f.now = started.Add(SessionLife - time.Second)
	f.wantSession(t, "a second before its end", secret, true)
	f.now = started.Add(SessionLife)
	f.wantSession(t, "at its end", secret, false)
}

// The other tests move the clock by the terms, whatever they are.
func TestTermsAreThoseOfTheDocuments(t *testing.T) {
	const day = 24 * time.Hour
	for name, term := range map[string][2]time.Duration{
		"idle": {SessionIdle, 14 * day}, "a session": {SessionLife, 90 * day}, "a session by OpenID Connect": {OIDCLife, day},
		"an invitation": {InvitationLife, 72 * time.Hour}, "seen": {seenEvery, 5 * time.Minute}, "clocks": {clockSlack, 5 * time.Minute},
		"attempts of a client": {attemptEveryByClient, 15 * time.Second}, "attempts on a name": {attemptEveryByName, time.Minute},
	} {
		if term[0] != term[1] {
			t.Errorf("%s: %v, want %v", name, term[0], term[1])
		}
	}
	if attemptsByClient != 20 || attemptsByName != 10 || maxHashing != 2 || MinPassword != 10 {
		t.Errorf("%d attempts by client, %d by name, %d passwords at a time, of %d bytes", attemptsByClient, attemptsByName, maxHashing, MinPassword)
	}
	if cost := passwordCost(); cost.Memory < 46<<10 || cost.Iterations < 1 || cost.Parallelism != 1 || cost.SaltLength < 16 || cost.KeyLength < 32 {
		t.Errorf("passwords cost %+v", *cost)
	}
}

// A clock that is set back never makes a session last longer than it would have.
func TestSessionFromTheFutureIsNone(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	right := f.now
	f.now = right.Add(365 * 24 * time.Hour) // the clock is wrong by a year
	future := f.begin(t, ann)
	f.wantSession(t, "by the wrong clock", future, true)
	f.now = right
	f.wantSession(t, "by the right clock", future, false)

	secret := f.begin(t, ann)
	f.now = right.Add(10 * 24 * time.Hour)
	f.wantSession(t, "ten days later", secret, true)
	f.now = right.Add(time.Hour)
	f.wantSession(t, "last seen in the future", secret, false)
	f.now = right.Add(10*24*time.Hour - clockSlack)
	f.wantSession(t, "five minutes back", secret, true)
}

func TestSessionIsSeenEveryFiveMinutes(t *testing.T) {
	f := newFixture(t)
	secret := f.begin(t, f.add(t, "ann@example.com", true))
	started := f.now
	for _, tt := range []struct{ after, seen time.Duration }{
		{time.Minute, 0}, {seenEvery - time.Second, 0}, {seenEvery, seenEvery}, {seenEvery + time.Minute, seenEvery},
		{3 * seenEvery, 3 * seenEvery}, {3*seenEvery - time.Minute, 3 * seenEvery},
	} {
		f.now = started.Add(tt.after)
		s, _, err := f.Session(t.Context(), secret)
		if err != nil || s.SeenAt.Sub(started) != tt.seen {
			t.Errorf("after %v: seen after %v, want %v; %v", tt.after, s.SeenAt.Sub(started), tt.seen, err)
		}
	}
}

func TestSessionsAreListedAndEnded(t *testing.T) {
	f := newFixture(t)
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", false)
	first, second, third, other := f.begin(t, ann), f.begin(t, ann), f.begin(t, ann), f.begin(t, bob)
	list, err := f.Sessions(t.Context(), ann.ID)
	if err != nil || len(list) != 3 {
		t.Fatalf("sessions: %+v, %v", list, err)
	}
	wantErr(t, "end one of another person", f.EndSession(t.Context(), bob.Actor(), bob.ID, list[0].ID), ErrNoSession)
	wantErr(t, "end one", f.EndSession(t.Context(), ann.Actor(), ann.ID, list[0].ID), nil)
	f.wantSession(t, "the one that was ended", third, false)
	f.wantSession(t, "another one", first, true)
	if n, err := f.EndSessions(t.Context(), ActorCommand, ann.ID); n != 2 || err != nil {
		t.Errorf("end all: %d, %v", n, err)
	}
	f.wantSession(t, "after the end of all", second, false)
	f.wantSession(t, "another person's", other, true)
}

// A restore ends every session and invitation, so that none that was ended since the
// backup comes back.
func TestRestoreEndsSessionsAndInvitations(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	session, invitation := f.begin(t, ann), f.invite(t, ann)
	copies, dir := t.TempDir(), t.TempDir()
	if _, err := backup.Run(t.Context(), f.archive, copies, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{From: copies, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	restored := openFixture(t, dir)
	restored.wantSession(t, "after the restore", session, false)
	_, err := restored.Invitation(t.Context(), invitation)
	wantErr(t, "the invitation", err, ErrUnknown)
	if list, err := restored.Sessions(t.Context(), ann.ID); len(list) != 0 || err != nil {
		t.Errorf("sessions: %+v, %v", list, err)
	}
	if events, err := restored.Events(t.Context(), EventQuery{Limit: 1}); err != nil || len(events) != 1 || events[0].Kind != Restored {
		t.Errorf("the audit of the restore: %+v, %v", events, err)
	}
	restored.wantSession(t, "a new session", restored.begin(t, ann), true)
	f.wantSession(t, "in the archive that was backed up", session, true)
}

// With 100,000 sessions one is found by its secret, and the old ones are swept.
func TestManySessions(t *testing.T) {
	testrun.SkipUnderRace(t)
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	epoch, err := f.epoch(t.Context())
	wantErr(t, "epoch", err, nil)
	old, started := f.now.Add(-SessionIdle).UnixMilli(), f.now.UnixMilli()
	_, err = f.db.W.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
		INSERT INTO sessions (hash, person, method, epoch, created_at, seen_at, expires_at)
		SELECT randomblob(32), ?1, 'password', ?2, iif(i % 2, ?3, ?4), iif(i % 2, ?3, ?4), ?5 FROM n`,
		ann.ID, epoch, old, started, f.now.Add(SessionLife).UnixMilli())
	wantErr(t, "add sessions", err, nil)
	f.wantSession(t, "one of many", f.begin(t, ann), true)
	for _, query := range []string{`SELECT * FROM sessions s JOIN people p ON p.id = s.person WHERE s.hash = x'00'`,
		`SELECT * FROM sessions WHERE person = 1`, `SELECT * FROM tokens WHERE hash = x'00'`, `SELECT * FROM invitations WHERE hash = x'00'`} {
		wantNoScan(t, f, query)
	}
	wantErr(t, "sweep", f.Sweep(t.Context(), f.now), nil)
	var left int
	err = f.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM sessions`).Scan(&left)
	if left != 50001 || err != nil {
		t.Errorf("%d sessions are left, %v", left, err)
	}
}

// wantNoScan fails the test when a query reads a whole table.
func wantNoScan(t *testing.T, f *fixture, query string) {
	t.Helper()
	rows, err := f.db.R.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var detail string
		var ignored sql.RawBytes
		if err := rows.Scan(&ignored, &ignored, &ignored, &detail); err != nil {
			t.Fatal(err)
		}
		if len(detail) >= 4 && detail[:4] == "SCAN" {
			t.Errorf("%s: %s", query, detail)
		}
	}
}

// BenchmarkSession finds the session of a request among those of 10,000 people,
// whom the directory lists.
func BenchmarkSession(b *testing.B) {
	a := archivetest.New(b)
	db, err := Open(b.Context(), Options{Archive: a, Now: func() time.Time { return archivetest.Epoch }})
	if err != nil {
		b.Fatal(err)
	}
	const people = 10000
	var users []api.User
	for i := range people {
		users = append(users, api.User{Email: fmt.Sprintf("p%d@example.com", i+1), Status: api.StatusActive})
	}
	if err := a.PutUsers(b.Context(), "local", users); err != nil {
		b.Fatal(err)
	}
	head, err := a.Head(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	now := archivetest.Epoch.UnixMilli()
	for _, fill := range []string{`INSERT INTO people (name, admin, created_at) SELECT 'p' || i, 0, ?2 FROM n WHERE i <= ?1`,
		`INSERT INTO addresses (person, address, position) SELECT i, 'p' || i || '@example.com', 1 FROM n WHERE i <= ?1 AND ?2`,
		`INSERT INTO sessions (hash, person, method, epoch, created_at, seen_at, expires_at) SELECT randomblob(32), i % ?1 + 1, 'password', '` + head.Epoch + `', ?2, ?2, ?2 + 9e9 FROM n`,
	} {
		if _, err := db.db.W.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) `+fill, people, now); err != nil {
			b.Fatal(err)
		}
	}
	secret, _, err := db.BeginSession(b.Context(), Person{ID: 77, Addresses: []string{"p77@example.com"}}, MethodPassword)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := db.Session(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckPassword(b *testing.B) {
	db, err := Open(b.Context(), Options{Archive: archivetest.New(b)})
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		if _, err := db.CheckPassword(b.Context(), "nobody@example.com", "wrong"); err == nil {
			b.Fatal("it was accepted")
		}
	}
}
