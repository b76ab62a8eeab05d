package service

import (
	"bytes"
	"compress/gzip"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"minutebook/service/limit"
)

const fuzzedDirectory = `{"users":[{"email":"ann@acme.example","name":"Ann","permissions":{"settings_access":{"level":"account_admin"},"view_access":{"level":"all_teams"}}},{"email":"BOB@acme.example","teams":["Ops"]},
	{"email":"cy@acme.example","status":"invited","teams":["Ops"],"created_at":"2026-01-01T00:00:00Z"}],"teams":[{"name":"Ops"},{"name":"Sales"}],"meeting_types":[{"name":"Demo","status":"inactive"}],
	"shares":[{"recording_id":1,"team":"Ops","level":"limited"},{"recording_id":2,"everyone":true}],"recordings":[{"recording_id":1,"media":"audio","failure_reason":"generation_failed"}]}`

// directed is a service with the organisation of the file, and a key of its admin.
func directed(f *testing.F) (s *Service, key string) {
	s, _ = fuzzed(f)
	err := s.LoadDirectory(f.Context(), strings.NewReader(fuzzedDirectory), "directory")
	if err == nil {
		key, err = s.CreateKey(f.Context(), "ann@acme.example")
	}
	if err != nil {
		f.Fatal(err)
	}
	return s, key
}

// FuzzDirectory: a file of an organisation that is refused changes nothing, and of one that is
// taken the lists are as the contract has them, and the same when it is loaded again.
func FuzzDirectory(f *testing.F) {
	f.Add([]byte(fuzzedDirectory))
	f.Add([]byte(`{"users":[{"email":"A"},{"email":"a","status":"deactivated"},{"email":" a "}],"teams":[{"name":""},{"name":"x"},{"name":"x"}]}`))
	f.Add([]byte(`{"users":[{"email":"\u0000","teams":["x","x"]}],"teams":[{"name":"x","created_at":"0001-01-01T00:00:00Z"}],"shares":[{"recording_id":-1,"user":"@"}]} {}`))
	f.Add([]byte(`{"users":null,"teams":[null],"meeting_types":[{"name":"A","status":"active"},{"name":"A","status":"inactive"}],"recordings":[{"recording_id":7},{"recording_id":7}]}`))
	s, key := directed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		lists := func() string {
			var all strings.Builder
			for _, path := range []string{"/users", "/users?team=x", "/teams", "/team_members?team=x", "/team_members?team=Ops", "/meeting_types", "/meetings"} {
				r := httptest.NewRequestWithContext(t.Context(), "GET", BasePath+path, nil)
				r.Header.Set("X-Api-Key", key)
				w := httptest.NewRecorder()
				checked(t, s.Handler()).ServeHTTP(w, r)
				if all.WriteString(w.Body.String()); w.Code >= 500 {
					t.Errorf("%q: %s: %d %s", raw, path, w.Code, w.Body)
				}
			}
			return all.String()
		}
		before := lists()
		err := s.LoadDirectory(t.Context(), bytes.NewReader(raw), "directory")
		if after := lists(); err != nil && after != before {
			t.Errorf("%q changes %s to %s: %v", raw, before, after, err)
		} else if err == nil && (s.LoadDirectory(t.Context(), bytes.NewReader(raw), "again") != nil || lists() != after) {
			t.Errorf("%q again: %s, and first %s", raw, lists(), after)
		}
		if err := s.LoadDirectory(t.Context(), strings.NewReader(fuzzedDirectory), "directory"); err != nil { // with the key's owner
			t.Fatal(err)
		}
	})
}

// FuzzLoad: of a file of meetings, plain or packed, those before the first fault are loaded,
// the fault is named, the lists are as the contract has them, and a second time changes nothing.
func FuzzLoad(f *testing.F) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(meeting(1) + "\n")); err != nil || z.Close() != nil {
		f.Fatal(err)
	}
	f.Add(packed.Bytes(), false)
	f.Add(packed.Bytes()[:packed.Len()-9], true)
	f.Add([]byte(strings.ReplaceAll(meeting(1), "\n", " ")+"\n\n"+strings.ReplaceAll(meeting(2, "recorded_by", "null", "calendar_invitees", `[{"email":""}]`), "\n", " ")), true)
	f.Add([]byte("{\"recording_id\":1}\n{\"recording_id\":1,\"title\":null,\"shared_with\":7}\n[1]\n"), false)
	f.Add([]byte("{\"recording_id\":9007199254740993,\"recorded_by\":{\"email\":\"A@b\",\"team\":\"\"},\"created_at\":\"0000-00-00\"}"), false)
	wrong := regexp.MustCompile(`^load test: (line \d+: |unpack: |gzip: |unexpected EOF|flate: )`)
	f.Fuzz(func(t *testing.T, raw []byte, hold bool) {
		o := Options{Archive: openTestArchive(t, ArchiveDir(t)), Sandbox: true, Logger: zerolog.Nop()}
		if hold {
			o.Hold = 1
		}
		s, err := New(t.Context(), o)
		if err == nil {
			err = s.SetLimits(t.Context(), Limits{Global: limit.Most, Heavy: limit.Most, DownloadLimit: limit.Most})
		}
		if err != nil {
			t.Fatal(err)
		}
		first, err := s.Load(t.Context(), bytes.NewReader(raw), "test")
		if err != nil && !wrong.MatchString(err.Error()) {
			t.Errorf("%q: %v", raw, err)
		}
		again, err := s.Load(t.Context(), bytes.NewReader(raw), "test")
		if again.New != 0 || again.Meetings != first.Meetings || again.Held != first.Held {
			t.Errorf("%q: %+v, and then %+v, %v", raw, first, again, err)
		}
		key, _, err := s.EnsureAdminKey(t.Context())
		if err != nil {
			return // nobody is there
		}
		for _, path := range []string{"/meetings?include_transcript=true&include_summary=true&include_action_items=true&include_crm_matches=true", "/users", "/teams", "/meeting_types"} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", BasePath+path, nil)
			r.Header.Set("X-Api-Key", key)
			w := httptest.NewRecorder()
			if checked(t, s.Handler()).ServeHTTP(w, r); w.Code != 200 {
				t.Errorf("%q: %s: %d %s", raw, path, w.Code, w.Body)
			}
		}
	})
}
