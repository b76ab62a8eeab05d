package web

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"minutebook/archive/notes"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// lateBody is a body that its sender holds back until something has happened.
type lateBody struct {
	first func()
	io.Reader
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.first != nil {
		b.first()
		b.first = nil
	}
	return b.Reader.Read(p)
}

// askLate sends a request of the browser whose body comes after first has returned.
func (s *entrySite) askLate(path, kind, token, body string, first func()) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, s.URL+path, &lateBody{first, strings.NewReader(body)})
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	} else {
		for _, c := range s.Client.Jar.Cookies(s.home()) {
			r.AddCookie(c)
		}
	}
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, r)
	return w
}

// TestWhoIsRemovedBeforeTheirBodyArrivesDoesNothing removes a person, or takes the address by
// which they see a meeting, while the body of their request is on its way.
func TestWhoIsRemovedBeforeTheirBodyArrivesDoesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, c := range []struct {
		name, path, kind, body string
		byToken, seesNoMore    bool
		want                   int
	}{
		{name: "assistant", path: "/mcp", kind: "application/json", byToken: true, want: http.StatusUnauthorized,
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_transcript","arguments":{"recording_id":71}}}`},
		{name: "note of a program", path: "/api/v1/meetings/71/notes", kind: "application/json", body: `{"text":"scribble"}`, want: http.StatusUnauthorized},
		{name: "note of a form", path: "/meetings/71/notes", kind: "application/x-www-form-urlencoded", body: "do=add&text=scribble", want: http.StatusUnauthorized},
		{name: "note by an alias that was taken", path: "/api/v1/meetings/71/notes", kind: "application/json", body: `{"text":"scribble"}`, seesNoMore: true, want: http.StatusNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newEntrySite(t, nil)
			s.apply(meeting(71, "Ann's walrus", "2026-06-01T09:00:00Z", `"shared_with":"no_teams","recorded_by":{"name":"Ann","email":"ann@acme.example"},"transcript":[{"speaker":{"display_name":"Ann"},"text":"The walrus is secret.","timestamp":"00:02:05"}]`))
			s.signIn("admin@acme.example", true)
			s.Client = newBrowser(t)
			cleo := s.signIn("cleo@acme.example", false)
			must(t, s.people.AddAddress(t.Context(), access.ActorCommand, cleo.ID, "ann@acme.example"))
			token := ""
			if c.byToken {
				var err error
				token, _, err = s.people.CreateToken(t.Context(), access.ActorCommand, cleo.ID, "x", []access.Scope{access.ScopeRead}, s.now.Load().AddDate(0, 0, 10))
				must(t, err)
			}
			w := s.askLate(c.path, c.kind, token, c.body, func() {
				if c.seesNoMore {
					must(t, s.people.RemoveAddress(t.Context(), access.ActorCommand, cleo.ID, "ann@acme.example"))
				} else {
					must(t, s.people.RemovePerson(t.Context(), access.ActorCommand, cleo.ID))
				}
			})
			notes, err := s.notes.ForMeeting(t.Context(), 0, 71)
			must(t, err)
			if w.Code != c.want || len(notes) > 0 || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%d, not %d, with the notes %v: %s", w.Code, c.want, notes, w.Body)
			}
		})
	}
}

// TestAResetEndsAFeedThatIsBeingWritten lets a browser that has Ann's session wait to write a
// feed while Ann resets her account.
func TestAResetEndsAFeedThatIsBeingWritten(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newEntrySite(t, nil)
	ann := s.signIn("ann@acme.example", true)
	saved, err := s.notes.Save(t.Context(), ann.ID, "w", "walrus")
	must(t, err)
	secret, _, err := s.people.Invite(t.Context(), access.ActorCommand, ann.ID)
	must(t, err)
	db, err := sql.Open("sqlite3", filepath.Join(s.archive.Dir(), notes.Name)+"?_txlock=immediate")
	must(t, err)
	defer db.Close()
	tx, err := db.Begin() // whoever writes a note waits
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		s.askLate("/saved/"+strconv.FormatInt(saved.ID, 10)+"/feed", "application/x-www-form-urlencoded", "", "seen=", func() {})
	})
	time.Sleep(200 * time.Millisecond)
	all.Go(func() {
		if _, err := s.people.AcceptInvitation(t.Context(), secret, goodPassword+"2"); err != nil {
			t.Error(err)
		}
	})
	time.Sleep(200 * time.Millisecond)
	must(t, tx.Rollback())
	all.Wait()
	if now, err := s.notes.SavedByID(t.Context(), ann.ID, saved.ID); err != nil || now.HasFeed {
		t.Errorf("the signed-out browser has a feed: %+v, %v", now, err)
	}
}

// TestWhoIsSignedOutWritesNothing ends the right of a request after it was identified.
func TestWhoIsSignedOutWritesNothing(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newEntrySite(t, nil)
	s.signIn("boss@acme.example", true)
	for name, end := range map[string]func(v Visitor) error{
		"nothing":    func(Visitor) error { return nil },
		"session":    func(v Visitor) error { return s.people.EndSession(t.Context(), v.Actor(), v.Person.ID, v.Session.ID) },
		"everywhere": func(v Visitor) error { _, err := s.people.EndSessions(t.Context(), v.Actor(), v.Person.ID); return err },
		"address": func(v Visitor) error {
			return s.people.RemoveAddress(t.Context(), v.Actor(), v.Person.ID, v.Person.Addresses[1])
		},
		"person": func(v Visitor) error { return s.people.RemovePerson(t.Context(), v.Actor(), v.Person.ID) },
	} {
		s.Client = newBrowser(t)
		p := s.signIn(name+"@acme.example", false)
		must(t, s.people.AddAddress(t.Context(), access.ActorCommand, p.ID, name+"@old.example"))
		var saved, token error
		page := s.Config.Handler.(*Handler).server.visited(func(_ http.ResponseWriter, r *http.Request) error {
			ctx, v := r.Context(), visitorOf(r.Context())
			must(t, end(v))
			_, saved = s.notes.Save(ctx, v.Person.ID, "w", "walrus")
			_, _, token = s.people.CreateToken(ctx, v.Actor(), v.Person.ID, "x", []access.Scope{access.ScopeRead}, s.now.Load().AddDate(0, 0, 1))
			return nil
		}, func(_ http.ResponseWriter, _ *http.Request, err error) { t.Errorf("%s: %v", name, err) })
		r := httptest.NewRequest(http.MethodPost, s.URL+"/", nil)
		for _, c := range s.Client.Jar.Cookies(s.home()) {
			r.AddCookie(c)
		}
		page.ServeHTTP(httptest.NewRecorder(), r)
		var want error
		if name != "nothing" {
			want = access.ErrNoSession
		}
		if !errors.Is(saved, want) || !errors.Is(token, want) {
			t.Errorf("%s ended: saves a search with %v and makes a token with %v, want %v", name, saved, token, want)
		}
	}
}
