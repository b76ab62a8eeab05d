package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"minutebook/web/access"
)

// isSecure reports whether browsers reach the page by https.
func (e *Entry) isSecure() bool { return e.PublicURL != nil && e.PublicURL.Scheme == "https" }

// cookieName returns the name of the session's cookie. With the prefix browsers
// take it over https alone, and at the root of a host from this host alone.
func (s *server) cookieName() string {
	switch {
	case !s.Entry.isSecure():
		return "minutebook"
	case s.base != "":
		return "__Secure-minutebook"
	}
	return "__Host-minutebook"
}

// cookiePath returns the path of cookies: browsers send them under it alone.
func (s *server) cookiePath() string { return cmp.Or(string(s.base), "/") }

// setCookie gives the browser the secret of a session, or with "" takes it away.
func (s *server) setCookie(w http.ResponseWriter, secret string) {
	c := &http.Cookie{Name: s.cookieName(), Value: secret, Path: s.cookiePath(), HttpOnly: true, Secure: s.Entry.isSecure(),
		SameSite: http.SameSiteLaxMode, MaxAge: int(access.SessionLife.Seconds())}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// beginSession signs a person in: with a new secret, whatever the browser had.
func (s *server) beginSession(w http.ResponseWriter, r *http.Request, person access.Person, method access.Method) error {
	secret, _, err := s.Entry.People.BeginSession(r.Context(), person, method)
	if errors.Is(err, access.ErrOut) { // the person was changed while they signed in
		return &failure{http.StatusUnauthorized, "You are not signed in: sign in again."}
	}
	if err != nil {
		return err
	}
	if old, err := r.Cookie(s.cookieName()); err == nil {
		if session, p, err := s.Entry.People.Session(r.Context(), old.Value); err == nil {
			if err := s.Entry.People.EndSession(r.Context(), p.Actor(), p.ID, session.ID); err != nil {
				s.Logger.Warn().Err(err).Msg("cannot end the browser's earlier session")
			}
		}
	}
	s.setCookie(w, secret)
	return nil
}

// localPath returns an address of this site for a redirect, "/" for any other.
func localPath(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(address, "/") ||
		strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n\t") || u.Path == "/login" || u.Path == "/invitation" {
		return "/"
	}
	return u.RequestURI()
}
