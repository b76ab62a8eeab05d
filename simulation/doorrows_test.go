package simulation

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"minutebook/web/access"
)

// doorRow is how a route of signing in, of one's own account or of admins is judged for
// a person who is signed in.
type doorRow struct {
	// path is asked. In it and in the form {person}, {session} and {token} stand for the
	// number of another person, and of that person's session and token.
	path, form string
	// admins says that the address exists for admins alone.
	admins bool
	// names says that the answer has the addresses of everybody.
	names bool
}

// doorRows has a row for each route that only a page has at which people sign in. A
// route without a path needs a draw's own state, and is asked in [entryRows] alone.
var doorRows = map[string]doorRow{
	"GET /me":                              {path: "/me"},
	"POST /me/sessions/end":                {path: "/me/sessions/end", form: "session={session}"},
	"POST /me/tokens":                      {path: "/me/tokens", form: "label=x"},
	"POST /me/tokens/revoke":               {path: "/me/tokens/revoke", form: "token={token}"},
	"POST /me/password":                    {path: "/me/password", form: "password=a&again=b&person={person}"},
	"POST /me/passkeys/begin":              {path: "/me/passkeys/begin"},
	"POST /me/passkeys/finish":             {path: "/me/passkeys/finish"},
	"POST /me/passkeys/remove":             {path: "/me/passkeys/remove", form: "passkey=AAAA"},
	"POST /me/account/key":                 {path: "/me/account/key"},
	"POST /me/account/end":                 {path: "/me/account/end"},
	"GET /me/account/app":                  {path: "/me/account/app"},
	"GET /me/account/callback":             {path: "/me/account/callback?state=x&code=y"},
	"GET /admin/people":                    {path: "/admin/people", admins: true, names: true},
	"POST /admin/people":                   {path: "/admin/people", form: "address=", admins: true, names: true},
	"POST /admin/people/{person}/{change}": {path: "/admin/people/{person}/nothing", form: "address=x@y.example", admins: true, names: true},
	"GET /admin/audit":                     {path: "/admin/audit", admins: true, names: true},
	"GET /login":                           {path: "/login?next=/meetings/1"},
	"GET /invitation":                      {path: "/invitation?secret=x"},
	"POST /login/passkey/finish":           {path: "/login/passkey/finish"},
	"POST /invitation/passkey/begin":       {path: "/invitation/passkey/begin", form: "secret=x"},
	"POST /invitation/passkey/finish":      {path: "/invitation/passkey/finish"},
	"POST /logout":                         {},
	"POST /login":                          {},
	"POST /invitation":                     {},
	"POST /login/passkey/begin":            {},
}

// personChanges are the changes of a person that admins alone can make.
var personChanges = []string{"invite", "grant-admin", "revoke-admin", "sign-out", "disconnect", "remove", "add-address", "remove-address"}

// doorState is a person's sessions, tokens and ways in, which nobody else may change.
type doorState struct {
	Person   access.Person
	Sessions []int64
	Tokens   []access.Token
}

func (w *world) doorStateOf(p person) doorState {
	d := w.house.door.people
	found, err := d.PersonByAddress(w.ctx, p.emails[0])
	w.must(err)
	sessions, err := d.Sessions(w.ctx, found.ID)
	w.must(err)
	tokens, err := d.Tokens(w.ctx, found.ID)
	w.must(err)
	for i := range tokens {
		tokens[i].UsedAt = time.Time{}
	}
	state := doorState{Person: found, Tokens: tokens}
	for _, s := range sessions {
		state.Sessions = append(state.Sessions, s.ID)
	}
	return state
}

// compareDoor asks the routes of signing in, of one's own account and of admins as a
// person who is signed in. Another person's account stays as it is, whatever the forms
// name, and only admins are told who else there is.
func (w *world) compareDoor(p, other person) {
	for _, pattern := range w.house.door.page.Patterns() {
		_, isPage := pageRows[pattern]
		if _, isDoor := doorRows[pattern]; isPage == isDoor {
			w.t.Fatalf("the route %q has no row, or two, in the proof of who sees what", pattern)
		}
	}
	before := w.doorStateOf(other)
	fill := strings.NewReplacer("{person}", fmt.Sprint(before.Person.ID), "{session}", fmt.Sprint(before.Sessions[0]), "{token}", fmt.Sprint(before.Tokens[0].ID))
	for _, pattern := range slices.Sorted(maps.Keys(doorRows)) {
		row := doorRows[pattern]
		if row.path == "" {
			continue
		}
		method, _, _ := strings.Cut(pattern, " ")
		rec := p.sendSignedIn(w, method, fill.Replace(row.path), fill.Replace(row.form))
		w.judgeDoor(p, other, method, row, rec)
	}
	if !p.admin {
		for _, change := range personChanges {
			path := fill.Replace("/admin/people/{person}/") + change
			w.judgeDoor(p, other, http.MethodPost, doorRow{path: path, admins: true}, p.sendSignedIn(w, http.MethodPost, path, "address=x@y.example"))
		}
	}
	w.wantSame(cmp.Diff(before, w.doorStateOf(other), cmp.AllowUnexported(access.Person{})), "", "%v has changed the account of %v", p, other)
}

func (w *world) judgeDoor(p, other person, method string, row doorRow, rec *httptest.ResponseRecorder) {
	text := rec.Body.String()
	p.hides(w, row.path, text)
	if row.admins && !p.admin {
		absent := p.sendSignedIn(w, method, "/nothing", row.form)
		w.wantSame([]any{rec.Code, rec.Header(), text}, []any{absent.Code, absent.Header(), absent.Body.String()}, "%v asks %s for %s, which is for admins", p, method, row.path)
	}
	for _, address := range other.emails {
		if named := strings.Contains(text, address); named && !(row.names && p.admin) {
			w.t.Fatalf("%v is told of the person %s by %s: %s", p, address, row.path, text)
		}
	}
	if row.path == "/me" {
		w.wantSame(strings.Contains(text, p.emails[0]), true, "%v is told of their own account", p)
	}
}
