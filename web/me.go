package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"minutebook/web/access"
)

// mePage is a person's own page: how they sign in, where they are signed in, and
// which programs may read for them.
type mePage struct {
	frame
	Person    access.Person
	Sessions  []access.Session
	Current   int64 // the session of this browser
	Tokens    []access.Token
	Passkeys  []access.Passkey
	Own       ownAccount
	Secret    string // of a token that was just made; it is shown once
	Notice    string
	Done      string
	Passwords bool   // whether people sign in with a password
	NoPasskey string // why there are no passkeys, "" where there are
	Least     int    // the length of the shortest password, in bytes
	Now       time.Time
}

// me answers GET /me.
func (s *server) me(w http.ResponseWriter, r *http.Request) error {
	return s.renderMe(w, r, http.StatusOK, &mePage{})
}

// renderMe renders the page with the words, and the secret, that p has.
func (s *server) renderMe(w http.ResponseWriter, r *http.Request, status int, p *mePage) error {
	v := visitorOf(r.Context())
	people := s.Entry.People
	p.frame, p.Person, p.Passwords, p.Least, p.Now = s.newFrame(r, "me", "Your account"), *v.Person, s.Entry.Passwords, access.MinPassword, s.Now()
	if v.Session != nil {
		p.Current = v.Session.ID
	}
	if s.passkeys == nil {
		p.NoPasskey = "There are none at this page's address: " + passkeysNeed + "."
	}
	var err error
	if p.Sessions, err = people.Sessions(r.Context(), v.Person.ID); err != nil {
		return err
	}
	if p.Passkeys, err = people.Passkeys(r.Context(), v.Person.ID); err != nil {
		return err
	}
	if p.Own, err = s.newOwnAccount(r.Context()); err != nil {
		return err
	}
	tokens, err := people.Tokens(r.Context(), v.Person.ID)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.IsValid(p.Now) {
			p.Tokens = append(p.Tokens, t)
		}
	}
	return s.render(w, status, "me", p)
}

// changePassword sets a new password and ends all other sessions. A person with a
// password types it once more, so that an unlocked screen is not enough.
func (s *server) changePassword(w http.ResponseWriter, r *http.Request) error {
	v, form := visitorOf(r.Context()), r.PostForm
	if v.Session == nil {
		return &failure{http.StatusNotFound, "There is no page at this address."}
	}
	if v.Person.HasPassword {
		_, err := s.checkPassword(w, r, v.Person.Address(), form.Get("current"))
		if wrong, ok := errors.AsType[*failure](err); ok {
			return s.renderMe(w, r, wrong.status, &mePage{Notice: wrong.message})
		}
		if err != nil {
			return err
		}
	}
	if form.Get("password") != form.Get("again") {
		return s.renderMe(w, r, http.StatusUnprocessableEntity, &mePage{Notice: "The two passwords differ: type the same one twice."})
	}
	err := s.Entry.People.SetPassword(r.Context(), v.Person.Actor(), v.Person.ID, form.Get("password"), v.Session.ID)
	if errors.Is(err, access.ErrPassword) {
		return s.renderMe(w, r, http.StatusUnprocessableEntity, &mePage{Notice: sentence(err)})
	}
	if err != nil {
		return err
	}
	return s.renderMe(w, r, http.StatusOK, &mePage{Done: "The password is changed, and all other browsers are signed out."})
}

// endOwnSession ends the session in the form, or all but this one.
func (s *server) endOwnSession(w http.ResponseWriter, r *http.Request) error {
	v, people, ctx := visitorOf(r.Context()), s.Entry.People, r.Context()
	if r.PostForm.Get("session") == "others" {
		sessions, err := people.Sessions(ctx, v.Person.ID)
		if err != nil {
			return err
		}
		for _, other := range sessions {
			if v.Session != nil && other.ID == v.Session.ID {
				continue
			}
			if err := people.EndSession(ctx, v.Person.Actor(), v.Person.ID, other.ID); err != nil && !errors.Is(err, access.ErrNoSession) {
				return err
			}
		}
		return s.seeOther(w, r, "/me")
	}
	id, err := formNumber(r, "session")
	if err != nil {
		return err
	}
	if err := people.EndSession(ctx, v.Person.Actor(), v.Person.ID, id); err != nil && !errors.Is(err, access.ErrNoSession) {
		return err
	}
	return s.seeOther(w, r, "/me")
}

// tokenDays are the lifetimes of a token that the form offers, in days.
var tokenDays = map[string]int{"30": 30, "90": 90, "365": 365}

// makeToken makes a token and shows its secret once.
func (s *server) makeToken(w http.ResponseWriter, r *http.Request) error {
	v, form := visitorOf(r.Context()), r.PostForm
	days, ok := tokenDays[form.Get("days")]
	label := strings.TrimSpace(form.Get("label"))
	if !ok || label == "" || len(label) > 100 {
		return s.renderMe(w, r, http.StatusUnprocessableEntity, &mePage{Notice: "Name the program that gets the token, in up to 100 characters."})
	}
	var scopes []access.Scope
	for _, name := range form["scope"] {
		scopes = append(scopes, access.Scope(name))
	}
	secret, _, err := s.Entry.People.CreateToken(r.Context(), v.Person.Actor(), v.Person.ID, label, scopes, s.Now().AddDate(0, 0, days))
	if errors.Is(err, access.ErrScope) || errors.Is(err, access.ErrNotAdmin) {
		return s.renderMe(w, r, http.StatusUnprocessableEntity, &mePage{Notice: sentence(err)})
	}
	if err != nil {
		return err
	}
	return s.renderMe(w, r, http.StatusOK, &mePage{Secret: secret})
}

func (s *server) revokeToken(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r.Context())
	id, err := formNumber(r, "token")
	if err != nil {
		return err
	}
	if err := s.Entry.People.RevokeToken(r.Context(), v.Person.Actor(), v.Person.ID, id); err != nil && !errors.Is(err, access.ErrNoToken) {
		return err
	}
	return s.seeOther(w, r, "/me")
}

// seeOther leads the browser to a page after a form, so that reloading it sends
// nothing again.
func (s *server) seeOther(w http.ResponseWriter, r *http.Request, address string) error {
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// formNumber reads the number of a thing from a form.
func formNumber(r *http.Request, field string) (int64, error) {
	id, err := strconv.ParseInt(r.PostForm.Get(field), 10, 64)
	if err != nil || id <= 0 {
		return 0, &failure{http.StatusBadRequest, "This form could not be read."}
	}
	return id, nil
}
