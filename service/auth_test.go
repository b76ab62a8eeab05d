package service

import (
	"net/http"
	"strings"
	"testing"
)

func TestCredentialsThatAreRefused(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	ann := s.key("ann@acme.example")
	for name, header := range map[string]http.Header{
		"none":            {},
		"wrong key":       {"X-Api-Key": {"mbk_wrong"}},
		"cut key":         {"X-Api-Key": {ann[:len(ann)-1]}},
		"empty key":       {"X-Api-Key": {""}},
		"two keys":        {"X-Api-Key": {ann, ann}},
		"key and bearer":  {"X-Api-Key": {ann}, "Authorization": {"Bearer mba_x"}},
		"no scheme":       {"Authorization": {ann}},
		"other scheme":    {"Authorization": {"Basic " + ann}},
		"key as bearer":   {"Authorization": {"Bearer " + ann}},
		"empty bearer":    {"Authorization": {"Bearer "}},
		"two in one":      {"Authorization": {"Bearer a, Bearer b"}},
		"unknown bearer":  {"Authorization": {"Bearer mba_unknown"}},
		"two bearers":     {"Authorization": {"Bearer a", "Bearer b"}},
		"bearer in key":   {"X-Api-Key": {"Bearer " + ann}},
		"hash of the key": {"X-Api-Key": {string(hashSecret(ann)[:4])}},
	} {
		req, err := http.NewRequest(http.MethodGet, s.base+"/teams", nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range header {
			if !strings.ContainsFunc(strings.Join(v, ""), func(r rune) bool { return r < ' ' || r > '~' }) {
				req.Header[k] = v
			}
		}
		if a := s.do(req); a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	s.get("/teams", ann, 200)
}

func TestKeysFollowTheirUser(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1), meeting(2, recordedBy("bob", "Support")...))
	ann := s.key("Ann@acme.example")
	if err := s.SetUserStatus(t.Context(), "ann@acme.example", "deactivated"); err != nil {
		t.Fatal(err)
	}
	if a := s.call(http.MethodGet, "/teams", ann, ""); a.status < 400 || a.status > 499 {
		t.Errorf("a deactivated user's key: %d", a.status)
	}
	if _, err := s.CreateKey(t.Context(), "ann@acme.example"); err == nil {
		t.Error("a deactivated user was given a key")
	}
	if _, err := s.CreateKey(t.Context(), "nobody@acme.example"); err == nil || !strings.Contains(err.Error(), "users create") {
		t.Errorf("a key for nobody: %v", err)
	}
	if err := s.SetUserStatus(t.Context(), "ann@acme.example", "active"); err != nil {
		t.Fatal(err)
	}
	s.get("/teams", ann, 200)
	keys, err := s.Keys(t.Context(), "ann@acme.example")
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v: %v", keys, err)
	}
	if err := s.RevokeKey(t.Context(), keys[0].ID); err != nil {
		t.Fatal(err)
	}
	s.get("/teams", ann, http.StatusUnauthorized)
}

// A key of somebody who was removed from the organisation stops working too.
func TestKeysOfRemovedUsersStop(t *testing.T) {
	s := newAcme(t, Options{})
	cy := s.key("cy@acme.example")
	s.get("/teams", cy, 200)
	reduced := strings.Replace(acme, `{"email": "cy@acme.example", "name": "Cy"},`, "", 1)
	if err := s.LoadDirectory(t.Context(), strings.NewReader(reduced), "acme"); err != nil {
		t.Fatal(err)
	}
	s.get("/teams", cy, http.StatusUnauthorized)
}

func TestKeysAreNotInTheDatabase(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	key := s.key("ann@acme.example")
	var n int
	err := s.store.db.R.QueryRowContext(t.Context(), `SELECT count(*) FROM api_keys WHERE instr(hash, ?) OR id = ?`, key, key).Scan(&n)
	if err != nil || n != 0 {
		t.Errorf("%d rows hold the key: %v", n, err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	for path, want := range map[string]int{
		"/nothing": 404, "/meetings/1": 404, "/recordings/x/transcript": 404, "/recordings/-1/summary": 404, "/recordings/2/transcript": 404,
		"/meetings?include_transcript=maybe": 400, "/meetings?created_after=yesterday": 400, "/meetings?created_before=2026-13-01": 400,
		"/meetings?calendar_invitees_domains_type=none": 400, "/meetings?recorded_by[]=ann": 400,
		"/recordings/1/summary?destination_url=ftp://a.example/": 400, "/recordings/1/summary?destination_url=/relative": 400,
	} {
		if a := s.call(http.MethodGet, path, s.admin, ""); a.status != want || !strings.HasPrefix(string(a.body), `{"error":`) {
			t.Errorf("GET %s: %d %s, want %d", path, a.status, a.body, want)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodDelete} {
		a := s.call(method, "/meetings", s.admin, "")
		if a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET" {
			t.Errorf("%s /meetings: %d, Allow %q", method, a.status, a.header.Get("Allow"))
		}
	}
	if a := s.call(http.MethodGet, "/meetings?x="+strings.Repeat("x", maxURL), s.admin, ""); a.status != http.StatusRequestURITooLong {
		t.Errorf("a long URL: %d", a.status)
	}
	if a := s.call(http.MethodPost, "/webhooks", s.admin, `{"x": "`+strings.Repeat("x", maxBody)+`"}`); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d", a.status)
	}
}
