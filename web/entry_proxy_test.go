package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// TestAProxySaysWhoAsks sends requests as a proxy does, from its network and from
// another one.
func TestAProxySaysWhoAsks(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	var log strings.Builder
	s := newEntrySiteWith(t, access.Options{}, func(o *Options) {
		o.Logger = zerolog.New(zerolog.SyncWriter(&log))
		o.Entry.Passwords, o.Entry.ProxyHeader, o.Entry.ProxyNetworks = false, "Remote-User", []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	})
	if err := s.archive.PutUsers(t.Context(), "acme", []api.User{{Email: "gone@acme.example", Status: api.StatusDeactivated}}); err != nil {
		t.Fatal(err)
	}
	admin, _ := s.add("ann@acme.example", true)
	token, _, err := s.people.CreateToken(t.Context(), admin.Actor(), admin.ID, "", []access.Scope{access.ScopeRead}, s.now.Load().AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	saved, err := s.notes.Save(t.Context(), admin.ID, "all", "the")
	if err != nil {
		t.Fatal(err)
	}
	feed, err := s.notes.MakeFeed(t.Context(), admin.ID, saved.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, peer, path string
		users            []string
		header           http.Header
		want             int
	}{
		{"a person", "10.1.2.3:4", "/", []string{"Bob@acme.example"}, nil, 200},
		{"the same again", "10.1.2.3:4", "/", []string{"bob@acme.example"}, nil, 200},
		{"an admin", "10.1.2.3:4", "/admin/people", []string{"ann@acme.example"}, nil, 200},
		{"no admin", "10.1.2.3:4", "/admin/people", []string{"bob@acme.example"}, nil, 404},
		{"from elsewhere", "10.2.2.3:4", "/", []string{"bob@acme.example"}, nil, 403},
		{"from elsewhere without a name", "10.2.2.3:4", "/", nil, nil, 403},
		{"from elsewhere, as if forwarded", "10.2.2.3:4", "/", []string{"bob@acme.example"}, http.Header{"X-Forwarded-For": {"10.1.2.3"}}, 403},
		{"ending mails from elsewhere", "10.2.2.3:4", "/unsubscribe/1.AAAA", nil, nil, 403},
		{"ending mails", "10.1.2.3:4", "/unsubscribe/1.AAAA", nil, nil, 404},
		{"a feed", "10.1.2.3:4", "/feeds/" + feed, nil, nil, 200},
		{"a feed from elsewhere", "10.2.2.3:4", "/feeds/" + feed, nil, nil, 404},
		{"no name", "10.1.2.3:4", "/", nil, nil, 401},
		{"an empty name", "10.1.2.3:4", "/", []string{" "}, nil, 401},
		{"two names", "10.1.2.3:4", "/", []string{"bob@acme.example", "ann@acme.example"}, nil, 401},
		{"no address", "10.1.2.3:4", "/", []string{"root"}, nil, 401},
		{"two addresses", "10.1.2.3:4", "/", []string{"bob@acme.example, ann@acme.example"}, nil, 401},
		{"deactivated", "10.1.2.3:4", "/", []string{"gone@acme.example"}, nil, 401},
		{"data of nobody", "10.1.2.3:4", "/api/v1/meetings", nil, nil, 401},
		{"a token", "10.1.2.3:4", "/api/v1/meetings", nil, http.Header{"Authorization": {"Bearer " + token}}, 200},
		{"a token from elsewhere", "10.2.2.3:4", "/api/v1/meetings", nil, http.Header{"Authorization": {"Bearer " + token}}, 403},
		{"a token of the proxy's own", "10.1.2.3:4", "/", []string{"bob@acme.example"}, http.Header{"Authorization": {"Bearer eyJhbGciOiJub25lIn0.e30."}}, 200},
		{"data with it", "10.1.2.3:4", "/api/v1/meetings", []string{"bob@acme.example"}, http.Header{"Authorization": {"Bearer eyJhbGciOiJub25lIn0.e30."}}, 200},
		{"an assistant with a name alone", "10.1.2.3:4", "/mcp", []string{"ann@acme.example"}, nil, 401},
		{"signing in", "10.1.2.3:4", "/login", []string{"bob@acme.example"}, nil, 404},
	} {
		r := httptest.NewRequest(http.MethodGet, s.URL+c.path, nil)
		r.RemoteAddr = c.peer
		r.Header = c.header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header["Remote-User"] = c.users
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
		if c.name == "no address" && !strings.Contains(w.Body.String(), "by an e-mail address: have web.proxy_header") {
			t.Errorf("the page does not say that the address is missing: %s", w.Body)
		}
		if c.name != "an assistant with a name alone" && w.Code == 401 && !strings.Contains(w.Body.String(), "roxy in front names nobody") {
			t.Errorf("%s is told to sign in: %s", c.name, w.Body)
		}
	}
	if n := strings.Count(log.String(), `"header":"Remote-User"`); n != 1 {
		t.Errorf("the log has the header %d times, want once: %s", n, &log)
	}
	people, err := s.people.People(t.Context())
	if err != nil || len(people) != 3 {
		t.Errorf("%d people, %v; want ann, bob and the deactivated one", len(people), err)
	}
}
