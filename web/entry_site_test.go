package web

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// entrySite is a site at which people sign in.
type entrySite struct {
	*site
	people       *access.DB
	*http.Client // the browser of somebody, who follows no redirects
}

// newEntrySite returns a site with the sample's meetings and an Entry with passwords,
// edited by change.
func newEntrySite(t testing.TB, change func(*Entry)) *entrySite {
	t.Helper()
	return newEntrySiteWith(t, access.Options{}, func(o *Options) {
		if change != nil {
			change(&o.Entry)
		}
	})
}

// newEntrySiteWith is newEntrySite with more options.
func newEntrySiteWith(t testing.TB, people access.Options, change func(*Options)) *entrySite {
	t.Helper()
	s := &entrySite{site: newSampleSite(t)}
	s.site.Close()
	var err error
	people.Archive, people.Now, people.EndOutlets = s.archive, func() time.Time { return *s.now.Load() }, s.notes.EndOutlets
	if s.people, err = access.Open(t.Context(), people); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewUnstartedServer(nil)
	public := &url.URL{Scheme: "http", Host: "localhost" + s.Listener.Addr().String()[len("127.0.0.1"):]}
	o := s.options()
	o.Identify, o.Entry = nil, Entry{People: s.people, PublicURL: public, Passwords: true}
	change(&o)
	if s.Config.Handler, err = New(o); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	s.URL = public.String()
	s.Client = newBrowser(t)
	return s
}

// newBrowser returns a client with cookies of its own.
func newBrowser(t testing.TB) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, CheckRedirect: stay}
}

// do sends a request, with a form where there is one.
func (s *entrySite) do(method, address string, form url.Values, header ...string) (*http.Response, string) {
	s.t.Helper()
	if !strings.HasPrefix(address, "http") {
		address = s.URL + address
	}
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return exchange(s.t, s.Client, req, header...)
}

// wants fails unless the answer has a status and all of the pieces; a piece that
// begins with / is where the answer leads.
func (s *entrySite) wants(status int, method, address string, form url.Values, pieces ...string) string {
	s.t.Helper()
	resp, body := s.do(method, address, form)
	if resp.StatusCode != status {
		s.t.Errorf("%s %s: status %d, want %d", method, address, resp.StatusCode, status)
	}
	for _, piece := range pieces {
		if strings.HasPrefix(piece, "/") && resp.Header.Get("Location") != piece {
			s.t.Errorf("%s %s leads to %q, want %q", method, address, resp.Header.Get("Location"), piece)
		} else if !strings.HasPrefix(piece, "/") && !strings.Contains(body, piece) {
			s.t.Errorf("%s %s says nothing of %q", method, address, piece)
		}
	}
	return body
}

// add adds a person and returns the secret of an invitation.
func (s *entrySite) add(address string, admin bool) (access.Person, string) {
	s.t.Helper()
	p, err := s.people.AddPerson(s.t.Context(), access.ActorCommand, address, "", admin)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, _, err := s.people.Invite(s.t.Context(), access.ActorCommand, p.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return p, secret
}

// again reads a person as they are now.
func (s *entrySite) again(p access.Person) access.Person {
	s.t.Helper()
	now, err := s.people.Person(s.t.Context(), p.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}

const goodPassword = "a long enough password"

// signIn adds a person and signs them in by their invitation.
func (s *entrySite) signIn(address string, admin bool) access.Person {
	s.t.Helper()
	p, secret := s.add(address, admin)
	s.wants(303, "POST", "/invitation", url.Values{"secret": {secret}, "password": {goodPassword}, "again": {goodPassword}}, "/")
	return p
}

// move moves the clock.
func (s *entrySite) move(by time.Duration) {
	now := s.now.Load().Add(by)
	s.now.Store(&now)
}

// TestWhoSeesNothingIsToldWhy signs in an admin and another person who see no meeting.
func TestWhoSeesNothingIsToldWhy(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newEntrySite(t, nil)
	s.signIn("first@stranger.example", true)
	s.wants(200, "GET", "/", nil, "No meetings for you yet", "The archive has ", "shows to first@stranger.example: an admin sees no more", "admin/people\">add it")
	s.Client = newBrowser(t)
	s.signIn("second@stranger.example", false)
	if body := s.wants(200, "GET", "/", nil, "shows to second@stranger.example. Where yours", "ask an admin"); strings.Contains(body, "The archive has") {
		t.Error("somebody who is no admin learns how many meetings there are")
	}
}

// home is the address of the page.
func (s *entrySite) home() *url.URL {
	s.t.Helper()
	home, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return home
}
