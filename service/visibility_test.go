package service

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
)

// acme is an organisation in which everybody sees something else. Meetings:
// 1 Ann's private, 2 Bob's private shared with Ann (limited), 3 Sales, 4 Support
// by multiple_teams (shares state Support), 5 all teams, 6 recorded outside and
// shared with Ann, 7 recorded outside and private.
const acme = `{
 "users": [
  {"email": "ann@acme.example", "name": "Ann", "teams": ["Sales"]},
  {"email": "bob@acme.example", "name": "Bob", "teams": ["Support"]},
  {"email": "cy@acme.example", "name": "Cy"},
  {"email": "boss@acme.example", "name": "Boss", "permissions": {"settings_access": {"level": "account_admin", "teams": []}, "view_access": {"level": "all_teams", "teams": []}}},
  {"email": "lead@acme.example", "name": "Lead", "permissions": {"settings_access": {"level": "team_admin", "teams": ["Sales"]}, "view_access": {"level": "team", "teams": ["Sales"]}}},
  {"email": "gone@acme.example", "name": "Gone", "status": "deactivated"},
  {"email": "new@acme.example", "status": "invited", "created_at": "2026-02-01T00:00:00Z"}],
 "teams": [{"name": "Sales", "created_at": "2025-01-01T00:00:00Z"}, {"name": "Support"}],
 "meeting_types": [{"name": "Sync", "status": "active"}, {"name": "Old", "status": "inactive"}],
 "shares": [
  {"recording_id": 2, "user": "Ann@acme.example", "level": "limited"},
  {"recording_id": 4, "team": "Support"},
  {"recording_id": 6, "user": "ann@acme.example", "level": "standard"}],
 "recordings": [{"recording_id": 3, "media": "audio"}, {"recording_id": 5, "media": "none"}]
}`

func newAcme(t *testing.T, opts Options) *sandbox {
	t.Helper()
	line := func(id int, name, team, shared string) string {
		return meeting(id, append(recordedBy(name, team), "shared_with", fmt.Sprintf("%q", shared))...)
	}
	s := newSandbox(t, opts, line(1, "ann", "Sales", "no_teams"), line(2, "bob", "Support", "no_teams"), line(3, "ann", "Sales", "single_team"),
		line(4, "cy", "Support", "multiple_teams"), line(5, "bob", "Support", "all_teams"),
		line(6, "zoe", "Outside", "no_teams"), line(7, "zoe", "Outside", "no_teams"))
	if err := s.LoadDirectory(t.Context(), strings.NewReader(acme), "acme"); err != nil {
		t.Fatal(err)
	}
	return s
}

var acmeSees = map[string][]int64{
	"ann@acme.example":  {6, 5, 3, 2, 1},
	"bob@acme.example":  {5, 4, 2},
	"cy@acme.example":   {5, 4},
	"boss@acme.example": {5, 4, 3},
	"lead@acme.example": {5, 3},
}

const outsideToo = "recorded_by[]=zoe@other.example&recorded_by[]=ann@acme.example&recorded_by[]=bob@acme.example&recorded_by[]=cy@acme.example"

func TestNobodySeesWhatIsHidden(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newAcme(t, Options{AllowPrivate: true})
	for email, want := range acmeSees {
		key := s.key(email)
		if got := s.walk(outsideToo, key); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", email, got, want)
		}
		inside := slices.DeleteFunc(slices.Clone(want), func(id int64) bool { return id == 6 })
		if got := s.walk("", key); !slices.Equal(got, inside) {
			t.Errorf("%s lists %v without filters, want %v", email, got, inside)
		}
		if got := s.walk("teams[]=Outside", key); slices.Contains(want, 6) != slices.Equal(got, []int64{6}) {
			t.Errorf("%s lists %v of team Outside", email, got)
		}
		for id := int64(1); id <= 7; id++ {
			s.clock.add(time.Minute)
			visible := slices.Contains(want, id)
			for _, path := range []string{"/recordings/%d/transcript", "/recordings/%d/summary"} {
				s.sameAsUnknown(http.MethodGet, path, key, id, visible)
			}
			s.sameAsUnknown(http.MethodPost, "/recordings/%d/download", key, id, visible)
		}
	}
}

// sameAsUnknown checks that a hidden meeting is answered exactly as one that does not
// exist.
func (s *sandbox) sameAsUnknown(method, path, key string, id int64, visible bool) {
	s.t.Helper()
	got := s.call(method, fmt.Sprintf(path, id), key, "")
	unknown := s.call(method, fmt.Sprintf(path, 999), key, "")
	if visible && got.status == http.StatusNotFound {
		s.t.Errorf("%s %s of %d: %s, though it is visible", method, path, id, got.body)
	}
	if !visible && (got.status != unknown.status || string(got.body) != string(unknown.body)) {
		s.t.Errorf("%s %s of %d: %d %s, though of one unknown it is %d %s", method, path, id, got.status, got.body, unknown.status, unknown.body)
	}
}

func TestDownloadsByShareAndMedia(t *testing.T) {
	s := newAcme(t, Options{})
	ann, bob := s.key("ann@acme.example"), s.key("bob@acme.example")
	for _, c := range []struct {
		key  string
		id   int
		want int
	}{
		{ann, 2, 403}, {bob, 2, 202}, {ann, 1, 202}, {ann, 6, 202}, {ann, 5, 422}, {bob, 4, 202}, {ann, 4, 404},
	} {
		if a := s.call(http.MethodPost, fmt.Sprintf("/recordings/%d/download", c.id), c.key, "{}"); a.status != c.want {
			t.Errorf("download of %d: %d %s, want %d", c.id, a.status, a.body, c.want)
		}
	}
	a := s.call(http.MethodPost, "/recordings/3/download", ann, "")
	if a.status != 202 || !strings.Contains(string(a.body), `"status":"completed"`) || !strings.Contains(string(a.body), `"audio":{"url":`) {
		t.Errorf("audio is %d %s, want completed at once", a.status, a.body)
	}
	var d struct {
		ID string `json:"download_id"`
	}
	a.decode(t, &d)
	s.get("/recordings/3/downloads/"+d.ID, ann, 200)
	for name, key := range map[string]string{"another key of hers": s.key("ann@acme.example"), "the admin's": s.key("boss@acme.example")} {
		if a := s.call(http.MethodGet, "/recordings/3/downloads/"+d.ID, key, ""); a.status != 404 {
			t.Errorf("read with %s: %d", name, a.status)
		}
	}
	s.get("/recordings/2/downloads/"+d.ID, ann, 404)
}

func TestAKeyKeepsWorkingAfterAChangeOfTeam(t *testing.T) {
	s := newAcme(t, Options{})
	lead := s.key("lead@acme.example")
	if got := s.walk("", lead); !slices.Equal(got, []int64{5, 3}) {
		t.Fatalf("before: %v", got)
	}
	moved := strings.Replace(acme, `"view_access": {"level": "team", "teams": ["Sales"]}`, `"view_access": {"level": "team", "teams": ["Support"]}`, 1)
	if err := s.LoadDirectory(t.Context(), strings.NewReader(moved), "acme"); err != nil {
		t.Fatal(err)
	}
	if got := s.walk("", lead); !slices.Equal(got, []int64{5, 4}) {
		t.Errorf("after: %v", got)
	}
}

func TestFiltersOfTheList(t *testing.T) {
	testrun.SkipUnderRace(t)
	var lines []string
	for id, opts := range map[int][]string{
		1: {"meeting_type", `"Sync"`},
		2: {"meeting_type", `"Retro"`, "calendar_invitees_domains_type", `"one_or_more_external"`,
			"calendar_invitees", `[{"name": "C", "email": "c@Client.example", "email_domain": "Client.example", "is_external": true}, {"email": "ann@acme.example", "email_domain": "acme.example", "is_external": false}]`},
		3: {"meeting_type", "null"},
		4: recordedBy("bob", "Support"),
	} {
		lines = append(lines, meeting(id, append(opts, "shared_with", `"all_teams"`)...))
	}
	s := newSandbox(t, Options{}, lines...)
	var at3 string
	var page struct {
		Items []struct {
			ID int64  `json:"recording_id"`
			At string `json:"created_at"`
		}
	}
	s.get("/meetings", s.admin, 200).decode(t, &page)
	for _, item := range page.Items {
		if item.ID == 3 {
			at3 = item.At
		}
	}
	for query, want := range map[string][]int64{
		"":                             {4, 3, 2, 1},
		"meeting_type=Retro":           {2},
		"meeting_type=Unknown":         nil,
		"teams[]=Support":              {4},
		"teams[]=Support&teams[]=None": {4},
		"teams[]=None":                 nil,
		"recorded_by[]=Bob@acme.example&recorded_by[]=x@y.example":             {4},
		"calendar_invitees_domains[]=client.example":                           {2},
		"calendar_invitees_domains[]=lient.example":                            nil,
		"calendar_invitees_domains[]=acme.example&meeting_type=Retro":          {2},
		"calendar_invitees_domains_type=one_or_more_external":                  {2},
		"calendar_invitees_domains_type=only_internal":                         {4, 3, 1},
		"calendar_invitees_domains_type=all":                                   {4, 3, 2, 1},
		"created_after=" + at3:                                                 {4},
		"created_before=" + at3:                                                {2, 1},
		"created_after=" + at3 + "&created_before=" + at3:                      nil,
		"teams%5B%5D=Sales&meeting_type=Sync":                                  {1},
		"created_after=" + strings.Replace(at3, "Z", "%2B00:00", 1):            {4},
		"created_after=" + strings.Replace(at3, "Z", "+00:00", 1):              {4},
		"recorded_by[]=bob@acme.example&teams[]=Sales":                         nil,
		"include_transcript=false&include_summary=0&unknown_parameter=ignored": {4, 3, 2, 1},
	} {
		if got := s.walk(query, s.admin); !slices.Equal(got, want) {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
		s.clock.add(time.Minute)
	}
}

func TestUsersAreForAccountAdmins(t *testing.T) {
	s := newAcme(t, Options{})
	boss := s.key("boss@acme.example")
	for _, email := range []string{"ann@acme.example", "lead@acme.example"} {
		s.get("/users", s.key(email), http.StatusForbidden)
	}
	type list struct {
		Limit int
		Items []struct {
			Email, Status string
			Permissions   any
		}
	}
	emails := func(query string) (out []string) {
		var page list
		s.get("/users?"+query, boss, 200).decode(t, &page)
		for _, u := range page.Items {
			out = append(out, strings.Split(u.Email, "@")[0])
			if (u.Permissions == nil) != (u.Status == "invited") {
				t.Errorf("%s, %s, has permissions %v", u.Email, u.Status, u.Permissions)
			}
		}
		return out
	}
	for query, want := range map[string]string{
		"": "ann bob boss cy lead gone new", "status=active": "ann bob boss cy lead", "status=deactivated": "gone", "status=invited": "new",
		"settings_access=account_admin": "boss", "settings_access=team_admin": "lead", "settings_access=none&status=active": "ann bob cy",
		"team=Sales": "ann", "team=Nothing": "",
	} {
		if got := strings.Join(emails(query), " "); got != want {
			t.Errorf("users?%s: %s, want %s", query, got, want)
		}
	}
	s.get("/users?status=invited&settings_access=none", boss, 400)
	s.get("/users?status=other", boss, 400)
	s.get("/users?settings_access=other", boss, 400)
	if a := s.get("/team_members?team=Sales", boss, 200); strings.Count(string(a.body), `"email"`) != 1 {
		t.Errorf("members of Sales: %s", a.body)
	}
	if a := s.get("/team_members", boss, 200); strings.Count(string(a.body), `"email"`) != 2 {
		t.Errorf("members: %s", a.body)
	}
	if a := s.get("/meeting_types", boss, 200); !strings.Contains(string(a.body), `"status":"inactive"`) {
		t.Errorf("meeting types: %s", a.body)
	}
}

func TestListsOfTheDirectoryArePaged(t *testing.T) {
	testrun.SkipUnderRace(t)
	var lines []string
	for id := 1; id <= 27; id++ {
		lines = append(lines, meeting(id, recordedBy(fmt.Sprintf("user%02d", id), fmt.Sprintf("Team %02d", id))...))
	}
	s := newSandbox(t, Options{}, lines...)
	for path, want := range map[string]int{"/teams": 27, "/users": 28, "/team_members": 27} {
		var seen []string
		for cursor := ""; ; {
			var page struct {
				Limit int
				Next  *string `json:"next_cursor"`
				Items []struct{ Name, Email string }
			}
			s.get(path+cursor, s.admin, 200).decode(t, &page)
			if page.Limit != 10 || len(page.Items) > 10 {
				t.Fatalf("%s: a page of %d, limit %d", path, len(page.Items), page.Limit)
			}
			for _, item := range page.Items {
				seen = append(seen, item.Name+item.Email)
			}
			if page.Next == nil {
				break
			}
			cursor = "?cursor=" + *page.Next
		}
		slices.Sort(seen)
		if n := len(slices.Compact(seen)); n != want {
			t.Errorf("%s: %d, want %d", path, n, want)
		}
	}
}
