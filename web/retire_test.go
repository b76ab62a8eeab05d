package web

import (
	"io"
	"testing"
	"time"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestRetiredPageAsksTheNextOne replaces the page beneath an open stream of events by one
// without passwords: the stream of who signed in by one ends, and a token reads on.
func TestRetiredPageAsksTheNextOne(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	var o Options
	s := newEntrySiteWith(t, access.Options{}, func(p *Options) { o = *p })
	eve := s.signIn("eve@acme.example", true)
	r, events := s.openEvents(t)
	page := s.Config.Handler.(*Handler)
	for range 2 { // a page that has replaced another one is replaced too
		o.Entry.Passwords, o.Registry = false, nil
		next, err := New(o)
		must(t, err)
		page.Retire(next)
		page = next
	}
	if _, err := io.Copy(io.Discard, events); err != nil {
		t.Errorf("the session of a password reads on: %v", err)
	}
	token, _, err := s.people.CreateToken(t.Context(), eve.Actor(), eve.ID, "program", []access.Scope{access.ScopeRead}, s.now.Load().Add(time.Hour))
	must(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	first := s.Config.Handler.(*Handler).server
	if v, err := first.identifyAgain(r); err != nil || v.Person == nil || v.Person.ID != eve.ID {
		t.Errorf("the token reads on as %+v: %v", v.Person, err)
	}
	r.Host = "elsewhere.example"
	if _, err := first.identifyAgain(r); !isOfNobody(err) {
		t.Errorf("under a host that is not served any more: %v", err)
	}
}
