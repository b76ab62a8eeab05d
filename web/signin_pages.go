package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"minutebook/web/access"
)

// maxForm is the size of the largest form or JSON of a request, in bytes: a note has up to 20,000
// characters, each of which takes up to twelve.
const maxForm = 256 << 10

// loginPage is the page for signing in.
type loginPage struct {
	frame
	Next, Address, Notice string
	Passwords, Passkeys   bool
	Provider              string // the address of signing in at the OpenID provider
}

// invitationPage is the page on which an invited person chooses a password.
type invitationPage struct {
	frame
	Secret, Notice string
	Person         access.Person
	Passkeys       bool
	Least          int // the length of the shortest password, in bytes
}

// form returns a handler of a form that changes something: its body is bounded and
// parsed before h sees it.
func form(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := parseForm(w, r); err != nil {
			return &failure{http.StatusBadRequest, "This form could not be read."}
		}
		return h(w, r)
	}
}

// parseForm reads the bounded form of a request, once.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	return r.ParseForm()
}

// entryRoutes returns the routes for signing in, for one's own account and for
// admins. There are none for the owner.
func (s *server) entryRoutes() []route {
	if s.Entry.isOwners() {
		return nil
	}
	all := []route{
		{"GET /me", s.page(s.me)},
		{"POST /me/sessions/end", s.page(form(s.endOwnSession))},
		{"POST /me/tokens", s.page(form(s.makeToken))},
		{"POST /me/tokens/revoke", s.page(form(s.revokeToken))},
		{"GET /admin/people", s.page(s.admins(s.people))},
		{"POST /admin/people", s.page(s.admins(form(s.addPerson)))},
		{"POST /admin/people/{person}/{change}", s.page(s.admins(form(s.changePerson)))},
		{"GET /admin/audit", s.page(s.admins(s.audit))},
	}
	all = append(all, s.accountRoutes()...)
	if s.Entry.ProxyHeader != "" {
		return all
	}
	all = append(all, route{"GET /login", s.public(s.login)}, route{"POST /logout", s.page(s.logOut)})
	if s.Entry.Passwords {
		all = append(all,
			route{"POST /login", s.public(form(s.logIn))},
			route{"GET /invitation", s.public(s.invitation)},
			route{"POST /invitation", s.public(form(s.acceptInvitation))},
			route{"POST /me/password", s.page(form(s.changePassword))})
		all = append(all, s.passkeyRoutes()...)
	}
	if s.oidc != nil {
		all = append(all, s.oidcRoutes()...)
	}
	return all
}

// public makes a route of a page that nobody has to sign in for, and publicData one of
// JSON. Before there is a first person both answer as all other pages do.
func (s *server) public(h handler) http.Handler { return s.compress(s.withClaim(h, s.failPage)) }

func (s *server) publicData(h handler) http.Handler { return s.compress(s.withClaim(h, s.failJSON)) }

func (s *server) withClaim(h handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := error(errNobody)
		if s.isClaimed(r.Context()) {
			err = h(w, r)
		}
		if err != nil {
			fail(w, r, err)
		}
	})
}

// login answers GET /login?next=PATH.
func (s *server) login(w http.ResponseWriter, r *http.Request) error {
	return s.renderLogin(w, r, http.StatusOK, &loginPage{Next: localPath(r.URL.Query().Get("next"))})
}

func (s *server) renderLogin(w http.ResponseWriter, r *http.Request, status int, p *loginPage) error {
	p.frame, p.Passwords, p.Passkeys = s.newFrame(r, "login", "Sign in"), s.Entry.Passwords, s.passkeys != nil
	if s.oidc != nil {
		p.Provider = "/login/oidc?" + url.Values{"next": {p.Next}}.Encode()
	}
	return s.render(w, status, "login", p)
}

// logIn answers the form of the page for signing in.
func (s *server) logIn(w http.ResponseWriter, r *http.Request) error {
	p := &loginPage{Next: localPath(r.PostForm.Get("next")), Address: r.PostForm.Get("address")}
	person, err := s.checkPassword(w, r, p.Address, r.PostForm.Get("password"))
	var wrong *failure
	switch {
	case errors.As(err, &wrong):
		p.Notice = wrong.message
		return s.renderLogin(w, r, wrong.status, p)
	case err != nil:
		return err
	}
	if err := s.beginSession(w, r, person, access.MethodPassword); err != nil {
		return err
	}
	http.Redirect(w, r, p.Next, http.StatusSeeOther)
	return nil
}

// checkPassword returns the person with an address and a password. The number of
// tries is bounded by the machine and by the address; it fails with a failure whose
// words are for the person, and which does not tell which addresses exist.
func (s *server) checkPassword(w http.ResponseWriter, r *http.Request, address, password string) (access.Person, error) {
	client, browser := s.client(r), ""
	if c, err := r.Cookie(s.browserCookie()); err == nil {
		browser = c.Value
	}
	charge, wait := s.SignIns.attempts.Attempt(client, address, browser)
	if err := refuseUntil(w, wait); err != nil {
		return access.Person{}, err
	}
	person, err := s.Entry.People.CheckPassword(r.Context(), address, password)
	if errors.Is(err, access.ErrSignIn) {
		s.Logger.Warn().Stringer("client", client).Msg("sign-in failed")
		return person, &failure{http.StatusUnauthorized, "The address or the password is wrong."}
	}
	if err != nil {
		return person, err
	}
	known := randomText()
	s.SignIns.attempts.Succeed(charge, address, browser, known)
	http.SetCookie(w, s.signInCookie(s.browserCookie(), known, int(access.SessionLife.Seconds())))
	return person, nil
}

// browserCookie returns the name of the cookie by which a browser is known in which somebody
// has signed in with a password. It opens nothing, and outlives the session.
func (s *server) browserCookie() string { return s.cookieName() + "-browser" }

// refuseUntil fails when a client has to wait before it may try to sign in.
func refuseUntil(w http.ResponseWriter, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
	return &failure{http.StatusTooManyRequests, "Too many tries: wait " + formatMinutes(wait+time.Minute) + " and try again."}
}

// logOut ends the session and takes the cookie away.
func (s *server) logOut(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r.Context())
	if v.Session != nil {
		if err := s.Entry.People.EndSession(r.Context(), v.Person.Actor(), v.Person.ID, v.Session.ID); err != nil {
			return err
		}
	}
	s.setCookie(w, "")
	if s.base == "" { // below a base path it would clear the data of other programs on the host
		w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}

// invitation answers GET /invitation?secret=SECRET. Opening it uses nothing up,
// since programs that look at links in mails open it too.
func (s *server) invitation(w http.ResponseWriter, r *http.Request) error {
	p := &invitationPage{Secret: r.URL.Query().Get("secret")}
	person, err := s.Entry.People.Invitation(r.Context(), p.Secret)
	if p.Person = person; err != nil {
		return s.refuseInvitation(err)
	}
	return s.renderInvitation(w, r, http.StatusOK, p)
}

func (s *server) renderInvitation(w http.ResponseWriter, r *http.Request, status int, p *invitationPage) error {
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the secret
	p.frame, p.Passkeys, p.Least = s.newFrame(r, "invitation", "Welcome"), s.passkeys != nil, access.MinPassword
	return s.render(w, status, "invitation", p)
}

// refuseInvitation turns the error of an invitation into words for a person.
func (s *server) refuseInvitation(err error) error {
	for _, reason := range []error{access.ErrUnknown, access.ErrUsed, access.ErrExpired, access.ErrOut} {
		if errors.Is(err, reason) {
			return &failure{http.StatusGone, sentence(reason)}
		}
	}
	if errors.Is(err, access.ErrManyKeys) || errors.Is(err, access.ErrKnownKey) {
		return &failure{http.StatusUnprocessableEntity, sentence(err)}
	}
	return err
}

// acceptInvitation sets the password and signs the person in.
func (s *server) acceptInvitation(w http.ResponseWriter, r *http.Request) error {
	p := &invitationPage{Secret: r.PostForm.Get("secret")}
	people, password := s.Entry.People, r.PostForm.Get("password")
	var err error
	if p.Person, err = people.Invitation(r.Context(), p.Secret); err != nil {
		return s.refuseInvitation(err)
	}
	if password != r.PostForm.Get("again") {
		p.Notice = "The two passwords differ: type the same one twice."
		return s.renderInvitation(w, r, http.StatusUnprocessableEntity, p)
	}
	person, err := people.AcceptInvitation(r.Context(), p.Secret, password)
	if errors.Is(err, access.ErrPassword) {
		p.Notice = sentence(err)
		return s.renderInvitation(w, r, http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return s.refuseInvitation(err)
	}
	if err := s.beginSession(w, r, person, access.MethodPassword); err != nil {
		return err
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}
