package service

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
	"minutebook/service/mirror"
)

// However the include flags are spelt, content costs a heavy call.
func TestNoSpellingOfAParameterGetsAroundTheHeavyLimit(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, query := range []string{"include_transcript=true", "include_transcript[]=true", "include_transcript%5B%5D=TRUE", "include_summary=1",
		"include_summary=&include_summary[]=true", "include_transcript=false&include_transcript[]=true"} {
		s := newSandbox(t, Options{}, meeting(1))
		for range 10 { // a map's order must not decide
			a := s.get("/meetings?"+query, s.admin, 200)
			content := strings.Contains(string(a.body), `"transcript":[`) || strings.Contains(string(a.body), `"default_summary":{`)
			if heavy := a.header.Get("RateLimit-Limit") == "30"; content && !heavy {
				t.Fatalf("%s: content for a light call", query)
			}
		}
	}
}

// A query that cannot be read whole is refused, since a filter that is dropped
// shows more than was asked for.
func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	for _, query := range []string{"meeting_type=%zz", "teams[]=Sales;recorded_by[]=x", "cursor=%"} {
		s.get("/meetings?"+query, s.admin, 400)
	}
}

// A query that is refused is a call as any other: it needs a credential (5.4) and is
// counted.
func TestARefusedQueryIsACall(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	for i, query := range []string{"cursor=%zz", "status[]=active", "cursor=a&cursor=b"} {
		s.get("/users?"+query, "", http.StatusUnauthorized)
		if left := s.get("/users?"+query, s.admin, 400).header.Get("RateLimit-Remaining"); left != strconv.Itoa(59-i) {
			t.Errorf("%s: %s calls are left, want %d", query, left, 59-i)
		}
	}
}

// Whether a value occurs in meetings that the caller does not see must not be
// told by how much work its filter is: a word that occurs nowhere is looked for in as
// many meetings as one that occurs hidden.
func TestFiltersOfUnknownAndOfHiddenValuesDoTheSameWork(t *testing.T) {
	s := newAcme(t, Options{})
	if err := s.mirror.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range []mirror.Query{{RecordedBy: []string{"zoe@other.example"}}, {Teams: []string{"Outside"}}, {Domains: []string{"other.example"}}} {
		unknown := q
		unknown.RecordedBy, unknown.Teams, unknown.Domains = rename(q.RecordedBy), rename(q.Teams), rename(q.Domains)
		for _, query := range []mirror.Query{q, unknown} {
			if p := s.mirror.Page("cy@acme.example", &query, nil); p.Looked != 7 || len(p.IDs) > 0 {
				t.Errorf("%+v: %d meetings were looked at, want all 7; found %v", query, p.Looked, p.IDs)
			}
		}
	}
}

// rename makes values that occur nowhere.
func rename(values []string) (other []string) {
	for _, v := range values {
		other = append(other, "nowhere-"+v)
	}
	return other
}

// Names with odd characters in them are places in a list as all others are.
func TestCursorsOfOddNames(t *testing.T) {
	var teams, names []string
	for i := range 25 {
		name := fmt.Sprintf("Team %02d \x00%%%c", i, rune('a'+i))
		names = append(names, name)
		teams = append(teams, fmt.Sprintf(`{"name": "Team %02d \u0000%%%c"}`, i, rune('a'+i)))
	}
	s := newSandbox(t, Options{}, meeting(1))
	if err := s.LoadDirectory(t.Context(), strings.NewReader(`{"users": [{"email": "ann@acme.example"}], "teams": [`+strings.Join(teams, ",")+`]}`), "odd"); err != nil {
		t.Fatal(err)
	}
	ann, got, cursor := s.key("ann@acme.example"), []string{}, ""
	for {
		var page struct {
			Next  *string `json:"next_cursor"`
			Items []struct{ Name string }
		}
		s.get("/teams"+cursor, ann, 200).decode(t, &page)
		for _, item := range page.Items {
			got = append(got, item.Name)
		}
		if page.Next == nil {
			break
		}
		cursor = "?cursor=" + url.QueryEscape(*page.Next)
	}
	if !slices.Equal(got, names) {
		t.Errorf("walked %q", got)
	}
}

// Requests whose bodies never come keep nobody from being answered.
func TestSlowBodiesHoldNobodyUp(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	at, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	for range maxConcurrent + 8 {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s/oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", at.Path)
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") { // the body is being waited for
			t.Fatalf("%q, %v", line, err)
		}
	}
	answered := make(chan answer, 1)
	go func() { answered <- s.call(http.MethodGet, "/teams", s.admin, "") }()
	select {
	case a := <-answered:
		if a.status != 200 {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	case <-time.After(8 * time.Second):
		t.Error("nobody is answered while bodies are awaited")
	}
}

// A body that stops in its middle is answered and not awaited for ever.
func TestABodyThatStopsIsRefused(t *testing.T) {
	s := newSandbox(t, Options{}, meeting(1))
	at, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s/webhooks HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nContent-Length: 100\r\n\r\n{", at.Path, s.admin)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("answered %d %s", resp.StatusCode, body)
	}
}

// A media link is good as long as the meeting is visible to who asked for it.
func TestAMediaLinkEndsWithTheVisibility(t *testing.T) {
	s := newAcme(t, Options{})
	link := func(email string, id int) string {
		t.Helper()
		var d struct{ Audio, Video struct{ URL string } }
		key := s.key(email)
		a := s.call(http.MethodPost, fmt.Sprintf("/recordings/%d/download", id), key, "")
		var created struct {
			ID string `json:"download_id"`
		}
		a.decode(t, &created)
		s.get(fmt.Sprintf("/recordings/%d/downloads/%s", id, created.ID), key, 200).decode(t, &d)
		return d.Audio.URL + d.Video.URL
	}
	lead, own := link("lead@acme.example", 3), link("ann@acme.example", 3)
	for _, url := range []string{lead, own} {
		s.get(url, "", 200)
	}
	private := strings.Replace(acme, `"view_access": {"level": "team", "teams": ["Sales"]}`, `"view_access": {"level": "own_meetings", "teams": []}`, 1)
	if err := s.LoadDirectory(t.Context(), strings.NewReader(private), "acme"); err != nil {
		t.Fatal(err)
	}
	s.get(lead, "", http.StatusForbidden)
	s.get(own, "", 200)
	if err := s.SetUserStatus(t.Context(), "ann@acme.example", "deactivated"); err != nil {
		t.Fatal(err)
	}
	s.get(own, "", http.StatusForbidden)
}

// One credential's media requests leave room for those of others.
func TestMediaRequestsAreCountedByCredential(t *testing.T) {
	s := streams{by: map[string]int{}}
	var releases []func()
	for range maxStreamsByEach {
		release, err := s.begin("key_a")
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	if _, err := s.begin("key_a"); err == nil {
		t.Error("one more was let in")
	}
	for i := s.all; i < maxStreams; i++ {
		if _, err := s.begin(fmt.Sprint("key_", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.begin("key_b"); err == nil {
		t.Error("more than all were let in")
	}
	releases[0]()
	if _, err := s.begin("key_a"); err != nil {
		t.Error(err)
	}
}
