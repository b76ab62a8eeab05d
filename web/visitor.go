package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/mcp"
	"minutebook/web/access"
)

// Visitor is the person behind a request. The zero Visitor sees nothing.
type Visitor struct {
	Viewer archive.Viewer // decides which meetings and parts the person sees
	Admin  bool           // sees the operations: jobs, failures and sizes of all accounts

	// Person is nil for the owner; Session and Token are nil without one.
	Person  *access.Person
	Session *access.Session
	Token   *access.Token
}

// newVisitor returns the visitor for a person. A token gives the rights of an admin
// only by its scope.
func newVisitor(p *access.Person, session *access.Session, token *access.Token) Visitor {
	return Visitor{Viewer: archive.ViewerWith(p.Addresses...), Admin: p.Admin && (token == nil || token.Has(access.ScopeAdmin)),
		Person: p, Session: session, Token: token}
}

// Actor returns the visitor as the audit names them.
func (v Visitor) Actor() access.Actor {
	if v.Person == nil {
		return access.ActorOwner
	}
	return v.Person.Actor()
}

// owner is the visitor of a page without sign-in: whoever reaches it owns the archive.
func owner() Visitor { return Visitor{Viewer: archive.Viewer{All: true}, Admin: true} }

// identify returns the visitor of a request, or the failure with which the request is
// answered.
func (s *server) identify(r *http.Request) (Visitor, error) {
	switch {
	case s.Identify != nil:
		return s.Identify(r)
	case s.Entry.isOwners():
		return owner(), nil
	}
	return s.identifyPerson(r)
}

// identifyAgain returns the visitor of a request whose answer takes long, by the page that
// is in force now.
func (s *server) identifyAgain(r *http.Request) (Visitor, error) {
	present := s.present()
	if present != s {
		if _, refused := present.refuses(r); refused != 0 {
			return Visitor{}, errNobody
		}
	}
	return present.identify(r)
}

// present returns the page that is in force: this one, or the last that has replaced it.
func (s *server) present() *server {
	for next := s.next.Load(); next != nil; next = s.next.Load() {
		s = next
	}
	return s
}

type visitorKey struct{}

// visited returns the handler that identifies the visitor of a request before h sees
// it, and answers errors with fail. Who holds a body back until they may enter no more is
// refused: the body is read before.
func (s *server) visited(h handler, fail func(http.ResponseWriter, *http.Request, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.identify(r)
		if err == nil && r.ContentLength != 0 {
			readBody(w, r)
			v, err = s.identifyAgain(r) // the body may have taken long
		}
		if err == nil {
			ctx := context.WithValue(markHead(r), visitorKey{}, v)
			if v.Person != nil {
				ctx = notes.Guarded(access.ActingAs(ctx, *v.Person), s.Entry.People.WhileActing)
			}
			r = r.WithContext(ctx)
			err = h(w, r)
		}
		if err != nil {
			fail(w, r, err)
		}
	})
}

// readBody reads the body of a request into memory, up to the longest one that a handler of
// a visitor accepts. A failure is left to the handler, which meets it where the body ended.
func readBody(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcp.MaxMessage))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), brokenOff{cmp.Or(err, io.EOF)}))
}

// brokenOff is the end of a body that was read: its error, or [io.EOF].
type brokenOff struct{ err error }

func (b brokenOff) Read([]byte) (int, error) { return 0, b.err }

// visitorOf returns the visitor of a request by its context. Without one it returns
// the zero Visitor.
func visitorOf(ctx context.Context) Visitor {
	v, _ := ctx.Value(visitorKey{}).(Visitor)
	return v
}

// viewerOf returns the viewer of a request, as whom its handler asks the archive.
func viewerOf(ctx context.Context) archive.Viewer { return visitorOf(ctx).Viewer }

// personOf returns the id of the visitor in notes.db.
func personOf(ctx context.Context) int64 {
	if p := visitorOf(ctx).Person; p != nil {
		return p.ID
	}
	return notes.Owner
}

// viewerOfPerson returns the viewer of a person who makes no request. For one who may not
// enter it fails with [access.ErrOut] or [access.ErrNotFound], or with [archive.ErrNotFound]
// where a page for people is asked for its owner, or an owner's page for a person.
func (s *server) viewerOfPerson(ctx context.Context, id int64) (archive.Viewer, error) {
	s = s.present() // a look for new matches can take longer than its page is in force
	switch {
	case id == notes.Owner && s.Entry.isOwners():
		return owner().Viewer, nil
	case id == notes.Owner || s.Entry.isOwners():
		return archive.Viewer{}, archive.ErrNotFound
	}
	person, err := s.Entry.People.Person(ctx, id)
	if err == nil {
		err = s.Entry.People.CheckIn(ctx, person)
	}
	if err != nil {
		return archive.Viewer{}, err
	}
	return archive.ViewerWith(person.Addresses...), nil
}

// view returns how the roster answers the visitor of a request.
func (s *server) view(ctx context.Context) (v roster.View, err error) {
	v.Viewer = viewerOf(ctx)
	if v.Groups, err = s.Notes.Groups(ctx); err == nil {
		v.Ticks, err = s.Notes.AllTicks(ctx)
	}
	return v, err
}

// visibleRow returns a meeting's row. It fails with [archive.ErrNotFound] alike for a
// meeting that the visitor does not see, that was forgotten and that does not exist;
// only the owner learns that a meeting was forgotten.
func (s *server) visibleRow(ctx context.Context, id int64) (*archive.Row, error) {
	return s.Archive.VisibleRow(ctx, viewerOf(ctx), id)
}

// findMeetingInPath returns the meeting that a request's path names, by visibleRow.
func (s *server) findMeetingInPath(r *http.Request) (id int64, row *archive.Row, err error) {
	if id, err = recordingID(r); err == nil {
		row, err = s.visibleRow(r.Context(), id)
	}
	return id, row, err
}

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
		strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n\t") || strings.HasPrefix(u.Path, "/login") || u.Path == "/invitation" {
		return "/"
	}
	if u.Path == connectionPath { // leads to the service, where browsers let no form be redirected
		return "/me"
	}
	return u.RequestURI()
}
