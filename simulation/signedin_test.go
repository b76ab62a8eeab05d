package simulation

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/web"
	"minutebook/web/access"
)

// door is the page of a house at which people sign in.
type door struct {
	page   *web.Handler
	people *access.DB
}

func (h *house) openDoor(ctx context.Context) (err error) {
	d := &door{}
	d.people, err = access.Open(ctx, access.Options{Archive: h.archive, Now: time.Now, Logger: zerolog.Nop()})
	if err != nil {
		return err
	}
	d.page, err = web.New(web.Options{Archive: h.archive, Index: h.index, Notes: h.notes, Logger: zerolog.Nop(), Status: sampleStatus, Location: time.UTC,
		Entry: web.Entry{People: d.people, Passwords: true, PublicURL: &url.URL{Scheme: "http", Host: "localhost:8377"}}})
	h.door = d
	return err
}

// admit lets two persons sign in and make tokens before anything is read. Each has one
// address or two, which nobody else has.
func (w *world) admit(t *rapid.T) {
	emails := rapid.Permutation(slices.Concat(people, outsiders, []string{"stranger@c.example"})).Draw(t, "signed in")
	for range 2 {
		p := person{admin: rapid.IntRange(0, 3).Draw(t, "admin") == 0}
		for range rapid.IntRange(1, 2).Draw(t, "addresses") {
			p.emails, emails = append(p.emails, emails[0]), emails[1:]
		}
		d, by := w.house.door.people, access.ActorCommand
		added, err := d.AddPerson(w.ctx, by, p.emails[0], "", p.admin)
		for _, alias := range p.emails[1:] {
			if err == nil {
				err = d.AddAddress(w.ctx, by, added.ID, alias)
			}
		}
		if err == nil {
			added, err = d.Person(w.ctx, added.ID)
		}
		if err == nil {
			p.cookie, _, err = d.BeginSession(w.ctx, added, access.MethodPassword)
		}
		scopes := []access.Scope{access.ScopeRead, access.ScopeExport}
		if p.admin {
			scopes = append(scopes, access.ScopeAdmin)
		}
		if err == nil {
			p.token, _, err = d.CreateToken(w.ctx, by, added.ID, "x", scopes, time.Now().Add(time.Hour))
		}
		w.must(err)
		w.signedIn = append(w.signedIn, p)
	}
}

// sendSignedIn makes a request with the person's session, or with the token where the
// person has no session.
func (p person) sendSignedIn(w *world, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.ctx, method, path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Host = "localhost:8377"
	if p.cookie != "" {
		r.Header.Set("Cookie", "minutebook="+p.cookie)
	} else {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	rec := httptest.NewRecorder()
	w.house.door.page.ServeHTTP(rec, r)
	return rec
}

// isOut reports whether the directory lets the person in no more: one of the addresses is
// deactivated, and none is an active user's.
func (p person) isOut(w *world) bool {
	has := func(status string) bool {
		return slices.ContainsFunc(p.emails, func(email string) bool {
			u, listed := w.userOf(email)
			return listed && u.status == status
		})
	}
	return has(api.StatusDeactivated) && !has(api.StatusActive)
}

// compareSignedIn asks every route as the persons who signed in before anything was read,
// by their sessions, and the routes for programs by their tokens too.
func (w *world) compareSignedIn(t *rapid.T) {
	list := w.sorted()
	page := list[rapid.IntRange(0, len(list)-1).Draw(t, "asked for"):]
	page = append(slices.Clone(page[:min(3, len(page))]), list[0])
	for i, p := range w.signedIn {
		bearer := p
		bearer.cookie = ""
		if !p.isOut(w) {
			w.compareDoor(p, w.signedIn[1-i])
		} else {
			w.compareOutAtDoor(p)
		}
		for _, pattern := range slices.Sorted(maps.Keys(pageRows)) {
			row := pageRows[pattern]
			if p.isOut(w) {
				w.compareOut(p, row, list[0])
				continue
			}
			w.comparePage(p, row, page)
			if strings.HasPrefix(pattern, "GET /api/") {
				w.comparePage(bearer, row, page)
			}
		}
	}
}

// compareOut asks as a person who is out: the session and the token are answered as those
// that nobody has.
func (w *world) compareOut(p person, row pageRow, m *meeting) {
	method := http.MethodGet
	if row.post {
		method = http.MethodPost
	}
	for _, path := range row.paths {
		if row.meeting {
			path = fmt.Sprintf(path, m.id)
		}
		w.compareForged(p, method, path, row.body)
	}
}

// compareOutAtDoor asks the routes of one's own account and of admins as a person who is
// out.
func (w *world) compareOutAtDoor(p person) {
	for pattern, row := range doorRows {
		if method, _, _ := strings.Cut(pattern, " "); row.path != "" {
			w.compareForged(p, method, row.path, row.form)
		}
	}
}

// compareForged compares the answers to the session and to the token of a person who is
// out with those to ones that nobody has.
func (w *world) compareForged(p person, method, path, body string) {
	bearer, forgedBearer := person{token: p.token}, person{token: access.TokenPrefix + strings.Repeat("A", 43)}
	for _, pair := range [][2]person{{p, {cookie: strings.Repeat("A", 43)}}, {bearer, forgedBearer}} {
		rec, forged := pair[0].sendSignedIn(w, method, path, body), pair[1].sendSignedIn(w, method, path, body)
		w.wantSame([]any{rec.Code, rec.Header(), rec.Body.String()}, []any{forged.Code, forged.Header(), forged.Body.String()}, "%v, who is out, asks %s for %s", p, method, path)
	}
}
