package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/api"
	"minutebook/internal/signature"
	"minutebook/service/limit"
)

// FuzzCursor: a cursor opens as it was sealed, for the same list, caller and filters, and
// nothing else opens.
func FuzzCursor(f *testing.F) {
	f.Add("2026-01-01", "17", "abc.def")
	f.Add("\x00", "%zz", ".")
	f.Add("", "a b+c", "MTc.x")
	c := cursors{key: signature.Key("0123456789abcdef0123456789abcdef")}
	f.Fuzz(func(t *testing.T, a, b, forged string) {
		sealed := c.seal("meetings", "ann", "q", a, b)
		got, err := c.open(sealed, "meetings", "ann", "q", 2)
		if err != nil || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q, %q: %q, %v", a, b, got, err)
		}
		for _, other := range [][3]string{{"users", "ann", "q"}, {"meetings", "bob", "q"}, {"meetings", "ann", "r"}} {
			if _, err := c.open(sealed, other[0], other[1], other[2], 2); err == nil {
				t.Errorf("it opens for %q", other)
			}
		}
		if forged == sealed {
			return
		}
		if got, err := c.open(forged, "meetings", "ann", "q", 2); err == nil {
			t.Errorf("%q opens as %q", forged, got)
		}
	})
}

// fuzzed is a service that has meetings of two people. Its clock goes on by a millisecond whenever
// it is read, so that no speed of calls reaches its limits.
func fuzzed(f *testing.F) (s *Service, key string) {
	var reads atomic.Int64
	now := func() time.Time { return testStart.Add(time.Duration(reads.Add(1)) * time.Millisecond) }
	s, err := New(f.Context(), Options{Archive: openTestArchive(f, ArchiveDir(f)), Sandbox: true, Now: now, Logger: zerolog.Nop()})
	if err == nil {
		_, err = s.Load(f.Context(), strings.NewReader(meeting(1)+"\n"+meeting(2, "meeting_type", `"Demo"`, "recorded_by", `{"name":"Bob","email":"bob@acme.example","email_domain":"acme.example","team":"Ops"}`)), "test")
	}
	if err == nil {
		err = s.SetLimits(f.Context(), Limits{Global: limit.Most, Heavy: limit.Most, DownloadLimit: limit.Most})
	}
	if err == nil {
		key, _, err = s.EnsureAdminKey(f.Context())
	}
	if err != nil {
		f.Fatal(err)
	}
	return s, key
}

// FuzzCredentials: no key, header or form but the right one lets anybody in, and no answer
// is a fault or repeats a secret.
func FuzzCredentials(f *testing.F) {
	s, key := fuzzed(f)
	app, secret, err := s.CreateApp(f.Context(), "Notes", []string{"https://app.example/callback"}, false)
	if err != nil {
		f.Fatal(err)
	}
	const kind = "application/x-www-form-urlencoded"
	// Inputs name the app and the secrets so, since each process has others.
	names := strings.NewReplacer("{app}", app.ClientID, "{key}", key, "{secret}", secret)
	f.Add("{key}", "", kind, "grant_type=authorization_code&code=x&client_id={app}&client_secret={secret}")
	f.Add(" {key}", "Bearer x", kind+"; charset=utf-8", "grant_type=refresh_token&refresh_token=x&client_id={app}&client_secret=x")
	f.Add("", "bearer  mba_x, y", "application/json", `{"client_id":"x"}`)
	f.Add("", "Basic eDp5", kind, "grant_type=refresh_token&grant_type=%zz")
	f.Add("", "Basic JTB4OiV6eg==", kind, "client_id=%00;client_secret=\xff")
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, apiKey, authorization, kind, form string) {
		apiKey, authorization, form = names.Replace(apiKey), names.Replace(authorization), names.Replace(form)
		ask := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, BasePath+path, strings.NewReader(body))
			r.Header["Authorization"] = []string{authorization}[:min(len(authorization), 1)]
			r.Header["X-Api-Key"] = []string{apiKey}[:min(len(apiKey), 1)]
			r.Header["Content-Type"] = []string{kind}
			w := httptest.NewRecorder()
			checked(t, handler).ServeHTTP(w, r)
			if w.Code >= 500 || strings.Contains(w.Body.String(), secret) || strings.Contains(w.Body.String(), key) {
				t.Errorf("%s %s %q %q %q: %d %s", method, path, apiKey, authorization, body, w.Code, w.Body)
			}
			return w
		}
		if right := strings.TrimSpace(apiKey) == key && authorization == ""; right != (ask("GET", "/users", "").Code == 200) {
			t.Errorf("%q, %q: let in is %v", apiKey, authorization, !right)
		}
		if w := ask("POST", "/oauth2/token", form); w.Code == 200 {
			t.Errorf("%q gets %s", form, w.Body)
		}
	})
}

// FuzzFilters: a list is answered with meetings that fit every filter of the query, or is
// refused, and of a body is read each member that has the right type, or it is refused.
func FuzzFilters(f *testing.F) {
	s, key := fuzzed(f)
	for _, q := range []string{"", "meeting_type=Demo&recorded_by[]=bob%40acme.example&teams=Ops", "recorded_by%5B%5D=ANN@acme.example&teams[0]=Ops", "created_after=2026-01-01T00:00:00+02:00&created_before=2026-03-02t9:0", "cursor=x&include_transcript=TRUE&include_summary=2",
		"meeting_type=Sync&meeting_type=Demo", "calendar_invitees_domains[]=acme.example&calendar_invitees_domains_type=only_internal", "teams[]=&teams[]=Sales", "a;b=%zz"} {
		f.Add(q, []byte(`{"destination_url":"https://me.example/h","include_transcript":true,"triggered_for":["my_recordings"]}`))
	}
	f.Add("limit=1", []byte(`{"include_transcript":null,"Include_Transcript":true,"include_transcript":true}`))
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", BasePath+"/meetings", nil)
		r.URL.RawQuery = query
		r.Header.Set("X-Api-Key", key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var page struct{ Items []api.Meeting }
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 && w.Code != 400 {
			t.Fatalf("%q: %d %s", query, w.Code, w.Body)
		}
		values := r.URL.Query()
		for _, m := range page.Items {
			for name, has := range map[string]string{"meeting_type": m.MeetingType.Or(""), "teams": m.RecordedBy.Team.Or(""), "recorded_by": m.RecordedBy.Email} {
				wanted := nonEmptyValues(slices.Concat(values[name], values[name+"[]"]))
				if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(v string) bool { return v == has || api.FoldEmail(v) == has }) {
					t.Errorf("%q finds a meeting with the %s %q", query, name, has)
				}
			}
		}
		var q webhookRequest
		r = httptest.NewRequestWithContext(t.Context(), "POST", BasePath+"/webhooks", bytes.NewReader(body))
		if err := readJSON(r, q.fields(), false); err != nil {
			var refused *failure
			if !errors.As(err, &refused) || refused.status != 400 {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		members := map[string]json.RawMessage{}
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("%q was read: %v", body, err)
		}
		var address string
		var transcript bool
		_, _ = json.Unmarshal(members["destination_url"], &address), json.Unmarshal(members["include_transcript"], &transcript) // absent is empty
		if q.DestinationURL != address || q.Transcript != transcript {
			t.Errorf("%q was read as %+v", body, q)
		}
	})
}
