package service

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"minutebook/api"
)

// FuzzPaths: whatever stands in a path and a query, the answer is one of the contract's, and
// users and members are those that fit every filter.
func FuzzPaths(f *testing.F) {
	s, key := directed(f)
	// {} stands for the input.
	paths := []string{"GET /recordings/{}/transcript", "GET /recordings/{}/summary", "GET /recordings/1/downloads/{}", "GET /recordings/{}/downloads/x", "POST /recordings/{}/download", "DELETE /webhooks/{}", "GET /media/{}/x.mp4", "GET /{}", "GET /users", "GET /team_members", "GET /teams", "GET /meeting_types"}
	for i := range paths {
		f.Add(byte(i), "1", "team=Ops&status=active&settings_access=none&cursor=x&limit=1&destination_url=https://me.example/h")
		f.Add(byte(i), "../1/%2f\x00", "team=Sales&team=Ops&status[]=x;a=%zz")
		f.Add(byte(i), "99999999999999999999", "status=invited")
		f.Add(byte(i), "1/transcript", "status=active&team=Ops&settings_access=account_admin")
	}
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, path byte, id, query string) {
		method, path1, _ := strings.Cut(paths[int(path)%len(paths)], " ")
		r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
		r.URL = &url.URL{Path: BasePath + strings.ReplaceAll(path1, "{}", id), RawQuery: query}
		r.Header.Set("X-Api-Key", key)
		w := httptest.NewRecorder()
		if strings.HasPrefix(path1, "/media/") { // not of the contract
			handler.ServeHTTP(w, r)
		} else {
			checked(t, handler).ServeHTTP(w, r)
		}
		if w.Code >= 500 {
			t.Fatalf("%s %q: %d %s", method, r.URL, w.Code, w.Body)
		}
		if w.Code != http.StatusOK || method == http.MethodPost {
			return
		}
		q := r.URL.Query()
		switch path1 {
		case "/users":
			var page struct{ Items []api.User }
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
				t.Fatal(err)
			}
			for _, u := range page.Items {
				level := u.Permissions.Or(api.Permissions{}).SettingsAccess.Level
				isOps := slices.Contains([]string{"bob@acme.example", "cy@acme.example"}, u.Email)
				if q.Get("status") != "" && q.Get("status") != u.Status || q.Get("settings_access") != "" && q.Get("settings_access") != level || q.Get("team") != "" && (q.Get("team") != "Ops" || !isOps) {
					t.Errorf("%q finds %+v", query, u)
				}
			}
		case "/team_members":
			var page struct{ Items []api.TeamMember }
			if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) > 0 && q.Get("team") != "Ops" && q.Get("team") != "" {
				t.Errorf("%q finds %+v, %v", query, page.Items, err)
			}
		}
	})
}

// FuzzAuthorize: a person is sent to no address but one that the app has registered, with a
// code only where the person has allowed it with the own key, and the page repeats no key.
func FuzzAuthorize(f *testing.F) {
	s, key := directed(f)
	registered := []string{"https://app.example/callback", "https://app.example/other?a=b"}
	app, _, err := s.CreateApp(f.Context(), "<Notes>", registered, true)
	if err != nil {
		f.Fatal(err)
	}
	// Inputs name the app and the key so, since each process has others.
	names := strings.NewReplacer("{app}", app.ClientID, "{key}", key)
	const right = "response_type=code&client_id={app}&redirect_uri=https%3A%2F%2Fapp.example%2Fother%3Fa%3Db&state=%22%3E%3Cscript%3E"
	f.Add(right, "answer=allow&api_key={key}")
	f.Add(right+"&scope=public_api&code_challenge="+strings.Repeat("a", 43)+"&code_challenge_method=S256", right+"&answer=deny")
	f.Add(strings.Replace(right, "other", "..%2Fother", 1), right+"&answer=allow&api_key=%20{key}")
	f.Add("", right+"&answer=allow&api_key=x&api_key={key}")
	f.Add("client_id={app}&redirect_uri=https://app.example@evil.example/callback&response_type=code", "%zz;a")
	handler := s.Handler()
	f.Fuzz(func(t *testing.T, query, form string) {
		query, form = names.Replace(query), names.Replace(form)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequestWithContext(t.Context(), method, BasePath+"/oauth2/authorize", strings.NewReader(form))
			r.URL.RawQuery = query
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			checked(t, handler).ServeHTTP(w, r)
			if to := w.Header().Get("Location"); to != "" {
				u, err := url.Parse(to)
				if err != nil {
					t.Fatal(err)
				}
				back := u.Query()
				if at := u.Scheme + "://" + u.Host + u.Path; !slices.Contains([]string{registered[0], "https://app.example/other"}, at) || u.User != nil {
					t.Errorf("%s %q %q leads to %q", method, query, form, to)
				}
				if answer, _ := url.ParseQuery(form); back.Get("code") != "" && (method == http.MethodGet || strings.TrimSpace(answer.Get("api_key")) != key || answer.Get("answer") != "allow") {
					t.Errorf("%s %q %q gives a code", method, query, form)
				}
			}
			isSecret := strings.Count(query+form, key) == strings.Count(form, "api_key="+key) // and not the state, which is repeated
			if body := w.Body.String(); w.Code >= 500 || isSecret && strings.Contains(body, key) || strings.Contains(body, "<script") {
				t.Errorf("%s %q %q: %d %s", method, query, form, w.Code, body)
			}
		}
	})
}
