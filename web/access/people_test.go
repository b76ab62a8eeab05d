package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"minutebook/api"
	"minutebook/internal/testrun"
)

func TestPeopleHaveFoldedUniqueAddresses(t *testing.T) {
	f := newFixture(t)
	if found, err := f.AnyPerson(t.Context()); found || err != nil {
		t.Fatalf("an empty database: %v, %v", found, err)
	}
	ann := f.add(t, " Ann@Example.com ", true)
	if ann.Address() != "ann@example.com" || !ann.Admin || ann.HasPassword || !ann.CreatedAt.Equal(f.now) {
		t.Errorf("added %+v", ann)
	}
	bob := f.add(t, "bob@example.com", false)
	_, err := f.AddPerson(t.Context(), ActorCommand, "ANN@example.com", "", false)
	wantErr(t, "an address that is taken", err, ErrExists)
	wantErr(t, "an alias that is taken", f.AddAddress(t.Context(), ActorCommand, bob.ID, "ann@example.com"), ErrExists)
	for _, bad := range []string{"", "ann", "Ann <ann@example.org>", "a b@example.com", "a@b@c", "a@example.com\nb", strings.Repeat("a", 250) + "@example.com",
		"b\xf6b@example.com", "b\ufffdb@example.com", "a\u200b@example.com", "a\u00adb@example.com", "a\u202eb@example.com", "a\u00a0b@example.com", "a\ufeff@example.com"} {
		_, err := f.AddPerson(t.Context(), ActorCommand, bad, "", false)
		wantErr(t, bad, err, ErrAddress)
	}
	wantErr(t, "add an alias", f.AddAddress(t.Context(), ActorCommand, ann.ID, "Ann@Old.example"), nil)
	p, err := f.PersonByAddress(t.Context(), "ANN@old.example")
	if err != nil || p.ID != ann.ID || !slices.Equal(p.Addresses, []string{"ann@example.com", "ann@old.example"}) {
		t.Fatalf("by the alias: %+v, %v", p, err)
	}
	wantErr(t, "remove the main address", f.RemoveAddress(t.Context(), ActorCommand, ann.ID, "ann@example.com"), nil)
	wantErr(t, "remove the only address", f.RemoveAddress(t.Context(), ActorCommand, ann.ID, "ann@old.example"), ErrLastAddress)
	wantErr(t, "remove an address of another", f.RemoveAddress(t.Context(), ActorCommand, ann.ID, "bob@example.com"), ErrNotFound)
	if people, err := f.People(t.Context()); err != nil || len(people) != 2 || people[0].Address() != "ann@old.example" {
		t.Errorf("people: %+v, %v", people, err)
	}
}

// A name comes from a provider too: it cannot disturb a terminal or a table.
func TestNamesAreALine(t *testing.T) {
	f := newFixture(t)
	for i, c := range []struct{ name, want string }{
		{"  Ann\tLee\nof  Acme ", "Ann Lee of Acme"}, {"Bo\x1b[2J\x00b\u202e", "Bo[2Jb"}, {"\xff\u200b", ""},
		{strings.Repeat("\u00e9", maxName+1), strings.Repeat("\u00e9", maxName)}, {"\u6797\u00a0\u5c0f\u660e", "\u6797 \u5c0f\u660e"},
	} {
		p, err := f.AddPerson(t.Context(), ActorCommand, fmt.Sprintf("p%d@example.com", i), c.name, false)
		if err != nil || p.Name != c.want {
			t.Errorf("%q is kept as %q, want %q; %v", c.name, p.Name, c.want, err)
		}
	}
}

// Out returns the people of many whom CheckIn refuses.
func TestOutIsCheckInForMany(t *testing.T) {
	f := newFixture(t)
	f.putUsers(t, map[string]string{"active@example.com": api.StatusActive, "active2@example.com": api.StatusActive, "gone@example.com": api.StatusDeactivated,
		"gone2@example.com": api.StatusDeactivated, "gone3@example.com": api.StatusDeactivated, "invited@example.com": "invited"})
	var people []Person
	var want []int64
	for _, c := range []struct {
		addresses string
		out       bool
	}{{"active", false}, {"gone", true}, {"invited", false}, {"unknown", false}, {"gone2 active2", false}, {"unknown2 gone3", true}, {"removed", true}} {
		addresses := strings.Fields(strings.ReplaceAll(c.addresses+" ", " ", "@example.com "))
		p := f.add(t, addresses[0], false)
		for _, alias := range addresses[1:] {
			wantErr(t, "add an alias", f.AddAddress(t.Context(), ActorCommand, p.ID, alias), nil)
		}
		if c.addresses == "removed" {
			wantErr(t, "remove", f.RemovePerson(t.Context(), ActorCommand, p.ID), nil)
		}
		if people = append(people, f.again(t, p)); c.out {
			want = append(want, p.ID)
		}
	}
	out, err := f.Out(t.Context(), people)
	if got := slices.Sorted(maps.Keys(out)); err != nil || !slices.Equal(got, want) {
		t.Errorf("out are %v, want %v; %v", got, want, err)
	}
	for _, p := range people {
		if refused := f.CheckIn(t.Context(), p) != nil; refused != out[p.ID] {
			t.Errorf("%v: out %v, and CheckIn says %v", p.Addresses, out[p.ID], refused)
		}
	}
}

func TestTheLastAdminStays(t *testing.T) {
	f := newFixture(t)
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", true)
	wantErr(t, "end the first of two", f.SetAdmin(t.Context(), ActorCommand, ann.ID, false), nil)
	wantErr(t, "end the last", f.SetAdmin(t.Context(), ActorCommand, bob.ID, false), ErrLastAdmin)
	wantErr(t, "remove the last", f.RemovePerson(t.Context(), ActorCommand, bob.ID), ErrLastAdmin)
	wantErr(t, "remove another", f.RemovePerson(t.Context(), ActorCommand, ann.ID), nil)
	wantErr(t, "change a removed one", f.SetAdmin(t.Context(), ActorCommand, ann.ID, true), ErrNotFound)
	if p, err := f.Person(t.Context(), bob.ID); err != nil || !p.Admin {
		t.Errorf("the last admin: %+v, %v", p, err)
	}
}

// An admin whom the directory calls deactivated cannot enter: the one who can is the last.
func TestTheLastAdminWhoMayEnterStays(t *testing.T) {
	f := newFixture(t)
	ann, bob := f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", true)
	f.putUsers(t, map[string]string{"ann@example.com": api.StatusActive, "bob@example.com": api.StatusDeactivated})
	wantErr(t, "end the last", f.SetAdmin(t.Context(), ActorCommand, ann.ID, false), ErrLastAdmin)
	wantErr(t, "remove the last", f.RemovePerson(t.Context(), ActorCommand, ann.ID), ErrLastAdmin)
	wantErr(t, "end the deactivated one", f.SetAdmin(t.Context(), ActorCommand, bob.ID, false), nil)
	bob = f.again(t, bob)
	wantErr(t, "make an admin again", f.SetAdmin(t.Context(), ActorCommand, bob.ID, true), nil)
	wantErr(t, "remove the deactivated one", f.RemovePerson(t.Context(), ActorCommand, bob.ID), nil)
}

// Two admins who end each other at the same moment: one of them stays.
func TestTheLastAdminStaysWhenTwoEndEachOther(t *testing.T) {
	f := newFixture(t)
	people := []Person{f.add(t, "ann@example.com", true), f.add(t, "bob@example.com", true)}
	errs := make([]error, len(people))
	var all sync.WaitGroup
	for i, p := range people {
		all.Go(func() { errs[i] = f.RemovePerson(t.Context(), ActorCommand, p.ID) })
	}
	all.Wait()
	if refused := errors.Is(errs[0], ErrLastAdmin); refused == errors.Is(errs[1], ErrLastAdmin) {
		t.Errorf("both were answered alike: %v", errs)
	}
}

func TestRemovedPersonIsOutEverywhere(t *testing.T) {
	f := newFixture(t)
	f.add(t, "boss@example.com", true)
	ann := f.add(t, "ann@example.com", false)
	session, invitation := f.begin(t, ann), f.invite(t, ann)
	token, _, err := f.CreateToken(t.Context(), ActorCommand, ann.ID, "", []Scope{ScopeRead}, f.now.Add(SessionLife))
	wantErr(t, "make a token", err, nil)
	wantErr(t, "remove", f.RemovePerson(t.Context(), ActorCommand, ann.ID), nil)

	f.wantSession(t, "after the removal", session, false)
	_, _, err = f.Token(t.Context(), token)
	wantErr(t, "the token", err, ErrNoToken)
	_, err = f.AcceptInvitation(t.Context(), invitation, "a long password")
	wantErr(t, "the invitation", err, ErrUsed)
	_, _, err = f.BeginSession(t.Context(), ann, MethodOIDC)
	wantErr(t, "another session", err, ErrOut)
	_, _, err = f.Invite(t.Context(), ActorCommand, ann.ID)
	wantErr(t, "another invitation", err, ErrNotFound)

	again := f.add(t, "ann@example.com", false)
	if old, err := f.Person(t.Context(), ann.ID); err != nil || again.ID == ann.ID || old.Address() != "ann@example.com" || old.RemovedAt.IsZero() {
		t.Errorf("added again: %+v; the removed one: %+v, %v", again, old, err)
	}
	f.wantSession(t, "of the removed one, after the address came again", session, false)
}

// Whom the directory calls deactivated is out by the commit that says so, and in
// again by the one that says otherwise.
func TestDeactivatedPersonIsOut(t *testing.T) {
	f := newFixture(t)
	ann := f.add(t, "ann@example.com", true)
	session := f.begin(t, ann)
	token, _, err := f.CreateToken(t.Context(), ActorCommand, ann.ID, "", []Scope{ScopeRead}, f.now.Add(SessionLife))
	wantErr(t, "make a token", err, nil)
	invitation := f.invite(t, ann)

	f.putUsers(t, map[string]string{"Ann@Example.com": api.StatusDeactivated, "bob@example.com": api.StatusActive})
	f.wantSession(t, "deactivated", session, false)
	_, _, err = f.Token(t.Context(), token)
	wantErr(t, "the token", err, ErrNoToken)
	_, err = f.Invitation(t.Context(), invitation)
	wantErr(t, "the invitation", err, ErrUnknown)
	_, _, err = f.BeginSession(t.Context(), ann, MethodOIDC)
	wantErr(t, "another session", err, ErrOut)

	wantErr(t, "add an alias", f.AddAddress(t.Context(), ActorCommand, ann.ID, "ann@new.example"), nil)
	f.wantSession(t, "with an alias that the directory does not know", session, false)
	f.putUsers(t, map[string]string{"ann@example.com": api.StatusDeactivated, "ann@new.example": api.StatusInvited})
	f.wantSession(t, "with an alias that is invited", session, false)
	f.putUsers(t, map[string]string{"ann@example.com": api.StatusDeactivated, "ann@new.example": api.StatusActive})
	f.wantSession(t, "active under another address", session, true)
	f.putUsers(t, map[string]string{"ann@example.com": api.StatusActive})
	f.wantSession(t, "active again", session, true)
}

// TestPeopleAreFound finds people by parts of their names and addresses, and reads no
// session of those that are not shown.
func TestPeopleAreFound(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	f, ctx := newFixture(t), t.Context()
	for i, name := range []string{"Ann", "Änne Müller", "bob", "", "Gone"} {
		p, err := f.AddPerson(ctx, ActorCommand, fmt.Sprintf("p%d@example.com", i), name, true)
		wantErr(t, "add", err, nil)
		if name == "bob" {
			wantErr(t, "add an address", f.AddAddress(ctx, ActorCommand, p.ID, "robert@OLD.example"), nil)
		}
		if name == "Gone" {
			wantErr(t, "remove", f.RemovePerson(ctx, ActorCommand, p.ID), nil)
		}
	}
	for _, c := range []struct {
		part  string
		limit int
		ids   []int64
		found int
	}{
		{"", 10, []int64{1, 2, 3, 4}, 4}, {"", 2, []int64{1, 2}, 4}, {"ann", 10, []int64{1}, 1}, {"ÄNNE m", 10, []int64{2}, 1}, {"Old.", 10, []int64{3}, 1},
		{"example", 10, []int64{1, 2, 3, 4}, 4}, {"example", 3, []int64{1, 2, 3}, 4}, {"gone", 10, nil, 0}, {"%", 10, nil, 0}, {"p3@", 10, []int64{4}, 1},
	} {
		people, found, err := f.FindPeople(ctx, c.part, c.limit)
		var ids []int64
		for _, p := range people {
			ids = append(ids, p.ID)
		}
		if err != nil || found != c.found || !slices.Equal(ids, c.ids) {
			t.Errorf("%q: %v of %d, %v; want %v of %d", c.part, ids, found, err, c.ids, c.found)
		}
	}
	if n, err := f.CountPeople(ctx); n != 4 || err != nil {
		t.Errorf("%d people, %v", n, err)
	}
	wantNoScan(t, f, `SELECT person, count(*), max(seen_at) FROM sessions WHERE `+
		strings.NewReplacer("?1", "''", "?2", "1", "?3", "1", "?4", "1").Replace(openTerm)+` AND person IN (1, 2) GROUP BY person`)
}
