package web

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"minutebook/api"
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
	people.Archive, people.Now = s.archive, func() time.Time { return *s.now.Load() }
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
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(body)
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

func TestNothingOpensBeforeTheFirstPerson(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	for _, page := range []string{"/", "/login", "/invitation?secret=x", "/status", "/meetings/1", "/nothing"} {
		if body := s.wants(200, "GET", page, nil, "minutebook user add"); strings.Contains(body, `action="/login"`) {
			t.Errorf("%s has a form", page)
		}
	}
	s.wants(401, "GET", "/api/v1/meetings", nil)
	s.wants(401, "POST", "/mcp", nil)
	s.wants(401, "POST", "/login", url.Values{"address": {"a@acme.example"}, "password": {"x"}})
	s.wants(401, "GET", "/metrics", nil)
	s.wants(200, "GET", "/healthz", nil)
}

func TestAnInvitationLetsInOnce(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	_, secret := s.add("ann@acme.example", true)
	s.wants(303, "GET", "/meetings/5?t=3", nil, "/login?next=%2Fmeetings%2F5%3Ft%3D3")
	s.wants(200, "GET", "/invitation?secret="+secret, nil, "ann@acme.example")
	form := url.Values{"secret": {secret}, "password": {"short"}, "again": {"short"}}
	s.wants(422, "POST", "/invitation", form, "A password has")
	form.Set("password", goodPassword)
	s.wants(422, "POST", "/invitation", form, "The two passwords differ")
	form.Set("again", goodPassword)
	resp, _ := s.do("POST", "/invitation", form)
	cookie := resp.Cookies()[0]
	if resp.StatusCode != 303 || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Secure || cookie.Path != "/" {
		t.Errorf("status %d, cookie %+v", resp.StatusCode, cookie)
	}
	s.wants(200, "GET", "/", nil, `title="ann@acme.example"`)
	s.wants(410, "POST", "/invitation", form, "This invitation was used")
	s.wants(410, "GET", "/invitation?secret="+secret, nil, "This invitation was used")
	s.wants(410, "GET", "/invitation?secret=other", nil, "This invitation is not known here")
	_, late := s.add("bob@acme.example", false)
	s.move(access.InvitationLife)
	s.wants(410, "GET", "/invitation?secret="+late, nil, "This invitation has expired")
}

func TestSignInSaysNothingOfNames(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	s.signIn("ann@acme.example", true)
	s.add("bob@acme.example", false) // has no password yet
	s.Client = newBrowser(t)
	bodies := map[string]bool{}
	for _, address := range []string{"ann@acme.example", "bob@acme.example", "eve@acme.example", "no address"} {
		body := s.wants(401, "POST", "/login", url.Values{"address": {address}, "password": {"wrong password"}})
		bodies[strings.ReplaceAll(body, `value="`+address+`"`, "")] = true
	}
	if len(bodies) != 1 {
		t.Errorf("%d different answers to wrong names and passwords", len(bodies))
	}
	s.wants(303, "POST", "/login", url.Values{"address": {"Ann@Acme.example "}, "password": {goodPassword}, "next": {"/status"}}, "/status")
	s.wants(200, "GET", "/status", nil)
	for range 30 {
		s.do("POST", "/login", url.Values{"address": {"ann@acme.example"}, "password": {"wrong password"}})
	}
	resp, body := s.do("POST", "/login", url.Values{"address": {"ann@acme.example"}, "password": {goodPassword}})
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "Too many tries") {
		t.Errorf("after many tries: %s", resp.Status)
	}
}

func TestSignInLeadsOnlyHere(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/": "/", "/?q=a%20b": "/?q=a%20b", "/meetings/5?t=3#x": "/meetings/5?t=3", "": "/", "//evil.example/": "/",
		"https://evil.example/": "/", `/\evil.example`: "/", "/\t/evil.example": "/", "javascript:alert(1)": "/", "/login?next=/": "/",
		"evil.example": "/", "/%2f/evil.example": "/%2f/evil.example", "http:///x": "/", "\x00": "/",
	} {
		if got := localPath(address); got != want {
			t.Errorf("%q leads to %q, want %q", address, got, want)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	ends := map[string]func(access.Person){
		"signing out":    func(access.Person) { s.wants(303, "POST", "/logout", url.Values{}, "/login") },
		"idle":           func(access.Person) { s.move(access.SessionIdle + time.Second) },
		"removal":        func(p access.Person) { _ = s.people.RemovePerson(t.Context(), access.ActorCommand, p.ID) },
		"an admin's end": func(p access.Person) { _, _ = s.people.EndSessions(t.Context(), access.ActorCommand, p.ID) },
		"deactivation": func(p access.Person) {
			user := api.User{Email: p.Address(), Status: api.StatusDeactivated}
			if err := s.archive.PutUsers(t.Context(), "acme", []api.User{user}); err != nil {
				t.Fatal(err)
			}
		},
	}
	s.signIn("admin@acme.example", true)
	number := 0
	for name, end := range ends {
		number++
		s.Client = newBrowser(t)
		p := s.signIn("person"+itoa(int64(number))+"@acme.example", false)
		home, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		cookies := s.Jar.Cookies(home)
		s.wants(200, "GET", "/", nil)
		end(p)
		s.Jar.SetCookies(home, cookies) // the browser keeps its old cookie
		if resp, _ := s.do("GET", "/", nil); resp.StatusCode != 303 {
			t.Errorf("%s: the session opens the page still: %s", name, resp.Status)
		}
		if resp, _ := s.do("GET", "/api/v1/meetings", nil); resp.StatusCode != 401 {
			t.Errorf("%s: the session opens the data still: %s", name, resp.Status)
		}
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	s.signIn("ann@acme.example", true)
	for _, address := range []string{"/logout", "/me/tokens", "/admin/people", "/login", "/me/password"} {
		for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site"}} {
			if resp, _ := s.do("POST", address, url.Values{}, header...); resp.StatusCode != 403 {
				t.Errorf("POST %s with %v: %s", address, header, resp.Status)
			}
		}
	}
	s.wants(200, "GET", "/me", nil)
}

func TestTokensOpenTheDataAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	ann := s.signIn("ann@acme.example", true)
	body := s.wants(200, "POST", "/me/tokens", url.Values{"label": {"script"}, "scope": {"read"}, "days": {"30"}}, access.TokenPrefix)
	secret := body[strings.Index(body, access.TokenPrefix):]
	secret = secret[:strings.Index(secret, "<")]
	s.wants(422, "POST", "/me/tokens", url.Values{"label": {"script"}, "scope": {"all"}, "days": {"30"}})
	s.wants(422, "POST", "/me/tokens", url.Values{"label": {"script"}, "days": {"30"}})
	if body := s.wants(200, "GET", "/me", nil, "script"); strings.Contains(body, secret) {
		t.Error("the token is shown again")
	}
	s.Client = newBrowser(t)
	bearer := func(address, secret string, want int) {
		t.Helper()
		if resp, _ := s.do("GET", address, nil, "Authorization", "Bearer "+secret); resp.StatusCode != want {
			t.Errorf("%s with a token: %s, want %d", address, resp.Status, want)
		}
	}
	bearer("/api/v1/meetings", secret, 200)
	bearer("/api/v1/meetings", secret+"x", 401)
	bearer("/api/v1/meetings", "", 401)
	bearer("/", secret, 303)
	bearer("/me", secret, 303)
	bearer("/admin/people", secret, 303)
	bearer("/metrics", secret, 404) // needs the scope admin
	export, _, err := s.people.CreateToken(t.Context(), ann.Actor(), ann.ID, "", []access.Scope{access.ScopeExport}, s.now.Load().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	bearer("/api/v1/meetings", export, 403)
	bearer("/api/v1/meetings/1/media/video", secret, 403) // needs the scope export
	manage, token, err := s.people.CreateToken(t.Context(), ann.Actor(), ann.ID, "", []access.Scope{access.ScopeAdmin}, s.now.Load().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	bearer("/metrics", manage, 200)
	if err := s.people.RevokeToken(t.Context(), ann.Actor(), ann.ID, token.ID); err != nil {
		t.Fatal(err)
	}
	bearer("/metrics", manage, 401)
	s.move(31 * 24 * time.Hour)
	bearer("/api/v1/meetings", secret, 401)
}

func TestOnlyAdminsManagePeople(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	admin := s.signIn("ann@acme.example", true)
	client := s.Client
	body := s.wants(200, "POST", "/admin/people", url.Values{"address": {"bob@acme.example"}, "name": {"Bob"}}, "Send this link to bob@acme.example")
	link := body[strings.Index(body, s.URL+"/invitation"):]
	link = link[:strings.Index(link, "<")]
	s.wants(422, "POST", "/admin/people", url.Values{"address": {"bob@acme.example"}}, "A person with this address exists already")
	s.wants(422, "POST", "/admin/people", url.Values{"address": {"bob"}}, "This is no e-mail address")
	s.wants(422, "POST", "/admin/people/"+itoa(admin.ID)+"/remove", url.Values{}, "This is the last admin")

	s.Client = newBrowser(t)
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	s.wants(200, "GET", link, nil, "Welcome, Bob")
	s.wants(303, "POST", "/invitation", url.Values{"secret": {u.Query().Get("secret")}, "password": {goodPassword}, "again": {goodPassword}}, "/")
	absent := s.wants(404, "GET", "/nothing", nil)
	for _, address := range []string{"/admin/people", "/admin/audit", "/metrics"} {
		if body := s.wants(404, "GET", address, nil); address != "/metrics" && body != absent {
			t.Errorf("%s tells a member that it exists", address)
		}
	}
	s.wants(404, "POST", "/admin/people", url.Values{"address": {"eve@acme.example"}, "admin": {"yes"}})
	s.wants(404, "POST", "/admin/people/"+itoa(admin.ID)+"/remove", url.Values{})

	s.Client = client
	if body := s.wants(200, "GET", "/admin/audit?person=nobody@acme.example", nil); strings.Contains(body, "person.added") {
		t.Error("the audit of an address that nobody has shows others")
	}
	bob, err := s.people.PersonByAddress(t.Context(), "bob@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	path := "/admin/people/" + itoa(bob.ID) + "/"
	s.wants(303, "POST", path+"add-address", url.Values{"address": {"robert@acme.example"}}, "/admin/people")
	s.wants(303, "POST", path+"grant-admin", url.Values{}, "/admin/people")
	s.wants(200, "GET", "/admin/people", nil, "robert@acme.example", "Bob")
	if body := s.wants(200, "GET", "/admin/people?who=ROBERT", nil, "robert@acme.example"); strings.Contains(body, "<h2>ann@") {
		t.Error("the filter finds somebody else")
	}
	s.wants(200, "GET", "/admin/audit", nil, "admin.granted", "bob@acme.example", "ann@acme.example")
	s.wants(200, "GET", "/admin/audit?person=robert@acme.example", nil, "address.added")
	s.wants(200, "GET", "/admin/audit?person="+itoa(bob.ID), nil, "address.added")
	s.wants(303, "POST", path+"remove", url.Values{}, "/admin/people")
	s.wants(404, "POST", path+"nothing", url.Values{})
}

func TestAPasswordIsChangedWithThePresentOne(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	ann := s.signIn("ann@acme.example", true)
	other, _, err := s.people.BeginSession(t.Context(), s.again(ann), access.MethodPassword)
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"current": {"wrong password"}, "password": {"another good password"}, "again": {"another good password"}}
	s.wants(401, "POST", "/me/password", form, "is wrong")
	form.Set("current", goodPassword)
	s.wants(200, "POST", "/me/password", form, "The password is changed")
	s.wants(200, "GET", "/me", nil)
	if _, _, err := s.people.Session(t.Context(), other); err == nil {
		t.Error("another browser is signed in still")
	}
	s.Client = newBrowser(t)
	s.wants(401, "POST", "/login", url.Values{"address": {"ann@acme.example"}, "password": {goodPassword}})
	s.wants(303, "POST", "/login", url.Values{"address": {"ann@acme.example"}, "password": {"another good password"}}, "/")
}

// TestReadsAreRecorded reads a meeting with a site whose configuration asks for a
// record of it.
func TestReadsAreRecorded(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	s.attachVideo(s.ids[0])
	o := s.options()
	o.Audit = s.people
	handler, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	meeting, data := server.URL+"/meetings/"+itoa(s.ids[0]), server.URL+"/api/v1/meetings/"+itoa(s.ids[0])
	for _, address := range []string{meeting, data + "/media/video", data + "/media/video", data + "/transcript", server.URL + "/api/v1/meetings/99999", meeting + "/transcript.vtt", server.URL + "/meetings/99999"} {
		s.do("GET", address, nil, "Range", "bytes=7-")
	}
	for _, tool := range []string{"get_meeting", "read_transcript"} {
		for _, id := range []int64{s.ids[0], 99999} {
			call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"recording_id":` + itoa(id) + `}}}`
			r := httptest.NewRequest("POST", server.URL+"/mcp", strings.NewReader(call))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != 200 {
				t.Errorf("%s: %d %s", tool, w.Code, w.Body)
			}
		}
	}
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []access.EventKind
	for _, e := range events {
		if e.IDs != (access.IDs{Meeting: s.ids[0]}) || e.Actor != access.ActorOwner {
			t.Errorf("event %+v", e)
		}
		got = append(got, e.Kind)
	}
	if want := []access.EventKind{access.MeetingOpened, access.MeetingPlayed, access.MeetingOpened, access.MeetingDownloaded, access.MeetingOpened, access.MeetingOpened}; !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// TestAPlayingIsRecordedOrNotBegun ends the first request before its record is written,
// as a player that closes the connection does.
func TestAPlayingIsRecordedOrNotBegun(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	p := &reads{audit: s.people, now: time.Now, played: map[played]time.Time{}}
	event := access.Event{Actor: access.ActorOwner, Kind: access.MeetingPlayed, IDs: access.IDs{Meeting: 1}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.recordPlaying(gone, event); err == nil {
		t.Error("a request that has ended is recorded")
	}
	for range 3 {
		if err := p.recordPlaying(t.Context(), event); err != nil {
			t.Error(err)
		}
	}
	events, err := s.people.Events(t.Context(), access.EventQuery{})
	if err != nil || len(events) != 1 {
		t.Errorf("recorded %v, %v; want one", events, err)
	}
}

// TestTheMonitorAnswersItsOwnHostsAlone asks the listener for health and metrics, which
// nobody signs in for, as a page of another site can by DNS.
func TestTheMonitorAnswersItsOwnHostsAlone(t *testing.T) {
	t.Parallel()
	s := newEntrySite(t, nil)
	o := s.options()
	o.Registry = prometheus.NewRegistry()
	monitor := NewMonitor(o)
	for host, want := range map[string]int{"localhost:8379": 200, "127.0.0.1:8379": 200, "notes.example": 200, "evil.example": 421} {
		for _, path := range []string{"/metrics", "/healthz"} {
			r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
			w := httptest.NewRecorder()
			if monitor.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s at %s: %d, want %d", path, host, w.Code, want)
			}
		}
	}
}
