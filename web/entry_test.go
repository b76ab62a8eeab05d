package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"minutebook/api"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

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
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	_, secret := s.add("ann@acme.example", true)
	s.wants(303, "GET", "/meetings/5?t=3", nil, "/login?next=%2Fmeetings%2F5%3Ft%3D3")
	s.wants(200, "GET", "/invitation?secret="+secret, nil, "ann@acme.example")
	if resp, _ := s.do("GET", "/invitation?secret="+secret, nil); resp.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Error("the page's links tell the invitation's secret")
	}
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
	for _, page := range []string{"/", "/me", "/admin/people", "/admin/audit", "/login", "/nothing"} {
		if resp, _ := s.do("GET", page, nil); resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept by the browser: %q", page, resp.Header.Get("Cache-Control"))
		}
	}
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
	s.wants(400, "POST", "/login", url.Values{"address": {strings.Repeat("a", maxForm)}, "password": {"wrong password"}})
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

// TestAttemptsSayNothingOfNames uses up the attempts of an address at which somebody has
// signed in, as a stranger in the same office can. The one who has signed in there goes on.
func TestAttemptsSayNothingOfNames(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	s.signIn("ann@acme.example", true)
	try := func(address, password string, want int) {
		t.Helper()
		s.wants(want, "POST", "/login", url.Values{"address": {address}, "password": {password}})
	}
	try("ann@acme.example", goodPassword, 303)
	own := s.Client
	s.Client = newBrowser(t)
	resp, _ := s.do("POST", "/login", nil)
	for i := 0; resp.StatusCode != 429; i++ {
		resp, _ = s.do("POST", "/login", url.Values{"address": {itoa(int64(i))}, "password": {"wrong password"}})
	}
	try("ann@acme.example", "wrong password", 429)
	try("nobody@acme.example", "wrong password", 429)
	s.Client = own
	s.wants(303, "POST", "/logout", url.Values{}, "/login")
	try("ann@acme.example", "wrong password", 401)
	try("ann@acme.example", goodPassword, 303)
	try("nobody@acme.example", "wrong password", 429)
}

func TestSignInLeadsOnlyHere(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	for address, want := range map[string]string{
		"/": "/", "/?q=a%20b": "/?q=a%20b", "/meetings/5?t=3#x": "/meetings/5?t=3", "": "/", "//evil.example/": "/",
		"https://evil.example/": "/", `/\evil.example`: "/", "/\t/evil.example": "/", "javascript:alert(1)": "/", "/login?next=/": "/",
		"/login/oidc?next=/": "/", "/me/account/app": "/me", // each leads to another host, and browsers redirect no form there
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
	for _, address := range []string{"/api/v1/now/looked", "/api/v1/saved-searches", "/me/tokens", "/logout"} {
		if resp, _ := s.do("POST", address, url.Values{}, "Authorization", "Bearer "+secret); resp.StatusCode != 401 {
			t.Errorf("a token changes something by %s: %s", address, resp.Status)
		}
	}
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

// TestTheMonitorAnswersItsOwnHostsAlone asks the listener for health and metrics, which
// nobody signs in for, as a page of another site can by DNS.
func TestTheMonitorAnswersItsOwnHostsAlone(t *testing.T) {
	testrun.SkipUnderRace(t)
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
