package web

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestPersonIsNotToldOfHiddenChanges looks at changes as somebody who sees one meeting of
// two.
func TestPersonIsNotToldOfHiddenChanges(t *testing.T) {
	testrun.SkipUnderRace(t)
	const bo = "bo@x.example"
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""))
	share := func(id int64, with bool) {
		t.Helper()
		shares := map[string]archive.ShareLevel{}
		if with {
			shares[archive.UserPrincipal(bo)] = archive.ShareLimited
		}
		must(t, s.archive.SetShares(t.Context(), id, shares))
	}
	share(1, true)
	visitor := Visitor{Viewer: archive.ViewerWith(bo)}
	ctx := context.WithValue(t.Context(), visitorKey{}, visitor)
	for _, c := range []struct {
		name string
		do   func()
		want bool
	}{
		{"a hidden meeting changes", func() { s.later(meeting(2, "Two again", "2026-06-30T16:00:00Z", "")) }, false},
		{"a hidden meeting arrives", func() { s.store(meeting(3, "Three", "2026-06-30T17:00:00Z", "")) }, false},
		{"a visible meeting changes", func() { s.later(meeting(1, "One again", "2026-06-30T15:00:00Z", "")) }, true},
		{"a meeting is shared", func() { share(3, true) }, true},
		{"a meeting is hidden", func() { share(3, false) }, true},
		{"one is hidden and another shared", func() { share(1, false); share(3, true) }, true},
		{"the rights of a hidden meeting change", func() {
			must(t, s.archive.SetShares(t.Context(), 2, map[string]archive.ShareLevel{archive.UserPrincipal("cy@x.example"): archive.ShareLimited}))
		}, false},
		{"a hidden meeting is forgotten", func() {
			if _, err := s.archive.Forget(t.Context(), 2, "asked to"); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a visible meeting is forgotten", func() {
			_, err := s.archive.Forget(t.Context(), 3, "asked to")
			must(t, err)
		}, true},
		{"others join", func() { putUsers(t, s.archive, "cy@x.example") }, false},
		{"the person joins", func() { putUsers(t, s.archive, "cy@x.example", bo) }, true},
	} {
		from, err := s.archive.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sight, err := s.server.sight(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		c.do()
		head, err := s.archive.Head(t.Context())
		if err != nil || head == from {
			t.Fatalf("%s: nothing was logged; %v", c.name, err)
		}
		at, seen, err := s.server.seesChange(ctx, vantage{from, sight}, 0)
		if err != nil || seen != c.want || at != (vantage{head, sight}) {
			t.Errorf("%s: told %t up to %v, %v; want %t up to %v", c.name, seen, at, err, c.want, head)
		}
	}
}

// TestPersonIsNotToldOfHiddenMatches changes the CRM matches that another account is shown of a
// meeting that Ana sees, and that are not Ana's.
func TestPersonIsNotToldOfHiddenMatches(t *testing.T) {
	s := newSite(t)
	read := func(second int, more string) {
		t.Helper()
		o := observe(t, second, meeting(1, "First", "2026-03-05T10:00:00Z", more))
		o.Account = "sales"
		if _, err := s.archive.Apply(t.Context(), []archive.Observation{o}); err != nil {
			t.Fatal(err)
		}
	}
	read(1, "")
	ana := context.WithValue(t.Context(), visitorKey{}, Visitor{Viewer: archive.ViewerWith("ana@acme.example")})
	sight, err := s.server.sight(ana, 0)
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.archive.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, shown := s.get("/api/v1/meetings/1", nobodyAna...)
	read(2, `"crm_matches":{"deals":[{"name":"Renewal","amount":5,"record_url":"https://crm.example/1"}]}`)
	if _, now := s.get("/api/v1/meetings/1", nobodyAna...); now != shown {
		t.Fatalf("Ana sees the matches: %s %s", shown, now)
	}
	for _, only := range []int64{0, 1} {
		if at, seen, err := s.server.seesChange(ana, vantage{before, sight}, only); seen || err != nil || at.Position == before {
			t.Errorf("of %d Ana is told that matches changed: %t up to %v, %v", only, seen, at, err)
		}
		if _, seen, err := s.server.seesChange(context.WithValue(t.Context(), visitorKey{}, owner()), vantage{Position: before}, only); !seen || err != nil {
			t.Errorf("of %d the owner is told of a change: %t, %v", only, seen, err)
		}
	}
}

// TestAnOpenListHearsThatAMeetingIsTakenAway takes meetings away while a list of them is open
// and does not wait, as that of a window which nobody looks at.
func TestAnOpenListHearsThatAMeetingIsTakenAway(t *testing.T) {
	const bo = "bo@x.example"
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""), meeting(3, "Three", "2026-06-30T17:00:00Z", ""))
	shared := map[string]archive.ShareLevel{archive.UserPrincipal(bo): archive.ShareLimited}
	for id := range int64(3) {
		must(t, s.archive.SetShares(t.Context(), id+1, shared))
	}
	from := s.position("/", "Test-Person", bo)
	for name, take := range map[string]func() error{
		"unshared": func() error { return s.archive.SetShares(t.Context(), 1, nil) },
		"forgotten": func() error {
			_, err := s.archive.Forget(t.Context(), 2, "asked to")
			return err
		},
	} {
		must(t, take())
		var answer changesJSON
		_, body := s.get("/api/v1/changes?from="+from, "Test-Person", bo)
		must(t, json.Unmarshal([]byte(body), &answer))
		if !answer.Changed {
			t.Errorf("a meeting was %s, and the list is told of no change", name)
		}
		from = answer.Head
	}
}

// TestAMeetingsPageHearsOfItsMeetingAlone waits for changes as the page of a meeting does.
func TestAMeetingsPageHearsOfItsMeetingAlone(t *testing.T) {
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""))
	ctx := context.WithValue(t.Context(), visitorKey{}, owner())
	before, err := s.archive.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.later(meeting(2, "Two again", "2026-06-30T16:00:00Z", ""))
	for only, want := range map[int64]bool{0: true, 1: false, 2: true} {
		if at, seen, err := s.server.seesChange(ctx, vantage{Position: before}, only); err != nil || seen != want || at.Position == before {
			t.Errorf("the page of %d hears of the change: %t up to %v, %v", only, seen, at, err)
		}
	}
	s.shows(400, "/api/v1/changes?recording_id=x&from="+s.position("/meetings/2"))
}

// TestAMeetingsPageHearsThatItIsGone asks for changes as the page of a meeting does whose
// reader loses it: as by anybody who never saw it.
func TestAMeetingsPageHearsThatItIsGone(t *testing.T) {
	const bo = "bo@x.example"
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""))
	share := func(id int64, who map[string]archive.ShareLevel) {
		t.Helper()
		if err := s.archive.SetShares(t.Context(), id, who); err != nil {
			t.Fatal(err)
		}
	}
	share(1, map[string]archive.ShareLevel{archive.UserPrincipal(bo): archive.ShareLimited})
	person := context.WithValue(t.Context(), visitorKey{}, Visitor{Viewer: archive.ViewerWith(bo)})
	before, err := s.archive.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	share(1, nil)
	if _, seen, err := s.server.seesChange(person, vantage{Position: before}, 1); seen || !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("one who waits: %t, %v", seen, err)
	}
	from := s.server.places.name(vantage{Position: before})
	hidden, hiddenBody := s.get("/api/v1/changes?recording_id=1&from="+from, "Test-Person", bo)
	absent, absentBody := s.get("/api/v1/changes?recording_id=7&from="+from, "Test-Person", bo)
	if hidden.StatusCode != 404 || absent.StatusCode != 404 || hiddenBody != absentBody {
		t.Errorf("hidden: %s %s\nabsent: %s %s", hidden.Status, hiddenBody, absent.Status, absentBody)
	}
	if _, err := s.archive.Forget(t.Context(), 2, "asked to"); err != nil {
		t.Fatal(err)
	}
	s.shows(410, "/api/v1/changes?recording_id=2&from="+from, "forgotten on purpose")
}

// later takes meetings into the archive as a read of the next day shows them.
func (s *site) later(meetings ...json.RawMessage) {
	s.t.Helper()
	for _, raw := range meetings {
		if _, err := s.archive.Apply(context.Background(), []archive.Observation{observe(s.t, 24*60*60, raw)}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func putUsers(t *testing.T, a *archive.Archive, emails ...string) {
	t.Helper()
	var users []api.User
	for _, email := range emails {
		users = append(users, api.User{Email: email, Status: api.StatusActive})
	}
	if err := a.PutUsers(t.Context(), "acme", users); err != nil {
		t.Fatal(err)
	}
}

// TestChangesEndWithTheVisitor ends each right to enter of somebody who waits for changes.
func TestChangesEndWithTheVisitor(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	s.add("boss@acme.example", true)
	for name, end := range map[string]func(access.Person) (want int){
		"the session ends": func(p access.Person) int {
			_, err := s.people.EndSessions(t.Context(), access.ActorCommand, p.ID)
			must(t, err)
			putUsers(t, s.archive, "somebody@acme.example", p.Address()) // a change that the person would hear of
			return 401
		},
		"the person is removed": func(p access.Person) int {
			must(t, s.people.RemovePerson(t.Context(), access.ActorCommand, p.ID))
			return 401
		},
		"an alias is taken away": func(p access.Person) int {
			must(t, s.people.RemoveAddress(t.Context(), access.ActorCommand, p.ID, "alias-"+p.Address()))
			return 200
		},
	} {
		s.Client = newBrowser(t)
		p := s.signIn(strings.ReplaceAll(name, " ", "-")+"@acme.example", false)
		must(t, s.people.AddAddress(t.Context(), access.ActorCommand, p.ID, "alias-"+p.Address()))
		var first, second changesJSON
		must(t, json.Unmarshal([]byte(s.wants(200, "GET", "/api/v1/changes?from="+strings.Repeat("A", 80), nil)), &first))
		type answer struct {
			status int
			body   string
		}
		answered := make(chan answer, 1)
		go func() {
			resp, body := s.do("GET", "/api/v1/changes?from="+first.Head, nil)
			answered <- answer{resp.StatusCode, body}
		}()
		time.Sleep(300 * time.Millisecond)
		want := end(p)
		select {
		case got := <-answered:
			if got.status != want {
				t.Errorf("%s: %d %s, want %d", name, got.status, got.body, want)
			}
			if got.status == 200 && (json.Unmarshal([]byte(got.body), &second) != nil || !second.Changed) {
				t.Errorf("%s: %s, want a change", name, got.body)
			}
		case <-time.After(5 * time.Minute):
			t.Errorf("%s: who waits is not told", name)
			<-answered
		}
	}
}
