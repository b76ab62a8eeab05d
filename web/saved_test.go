package web

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/internal/testrun"
	"minutebook/web/access"
)

// feedOf reads a feed as a program without a session does.
func (s *entrySite) feedOf(t *testing.T, address string) (status int, titles []string, body string) {
	t.Helper()
	client := newBrowser(t)
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	other := *s
	other.Client = client
	resp, body = other.do("GET", address, nil)
	var f atomFeed
	if err := xml.Unmarshal([]byte(body), &f); resp.StatusCode == 200 && err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, e := range f.Entries {
		titles = append(titles, e.Title)
	}
	return resp.StatusCode, titles, body
}

// TestSavedSearchesAndTheirFeeds saves a search, reads its feed without a session, and
// looks that the feed ends with its right, its owner and by a click.
func TestSavedSearchesAndTheirFeeds(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	shared := `"shared_with":"no_teams","recorded_by":{"name":"Ann","email":"ann@acme.example"},"transcript":[{"speaker":{"display_name":"Ann <b>"},"text":"The walrus & the budget.","timestamp":"00:02:05"}]`
	s.apply(meeting(71, "Ann's walrus", "2026-06-01T09:00:00Z", shared),
		meeting(72, "Bob's walrus", "2026-06-02T09:00:00Z", strings.NewReplacer("Ann", "Bob", "ann@", "bob@").Replace(shared)))
	s.signIn("admin@acme.example", true)
	admin := s.Client
	s.Client = newBrowser(t)
	ann := s.signIn("ann@acme.example", false)
	s.wants(200, "GET", "/?q=walrus", nil, "Save this search", `action="/saved"`)
	s.wants(303, "POST", "/saved", url.Values{"name": {"Walrus watch"}, "query": {"walrus"}}, "/saved")
	s.wants(422, "POST", "/saved", url.Values{"name": {"Walrus watch"}, "query": {"walrus herd"}})
	s.wants(422, "POST", "/saved", url.Values{"name": {"x"}, "query": {"nope:"}}, "no field")
	s.wants(200, "GET", "/?q=walrus", nil, "This search is saved")
	s.wants(404, "POST", "/saved/99/delete", url.Values{})
	s.wants(404, "POST", "/saved/1/nothing", url.Values{})
	s.wants(422, "POST", "/saved/1/notify", url.Values{"address": {"file:///etc/passwd"}})
	for _, private := range []string{"http://127.0.0.1:8378/webhooks/acme", "http://169.254.169.254/latest", "https://[::1]/", "https://2130706433/",
		"http://127。0。0。1/", "http://localhost./", "https://user:secret@hook.example/", "https://hook.example:99999/"} {
		s.wants(422, "POST", "/saved/1/notify", url.Values{"address": {private}}, "The address for notifications")
	}
	s.wants(200, "POST", "/saved/1/notify", url.Values{"address": {"https://hook.example/x"}}, "whsec_")
	s.wants(200, "GET", "/api/v1/saved-searches", nil, `"name":"Walrus watch"`, `"notify":"https://hook.example/x"`)

	body := s.wants(200, "POST", "/saved/1/feed", url.Values{"name": {"Walrus watch"}}, "It is not shown again")
	address := regexp.MustCompile(`http://localhost[^<]*/feeds/[\w-]+`).FindString(body)
	if address == "" {
		t.Fatal("no address of the feed")
	}
	if body := s.wants(200, "GET", "/saved", nil); strings.Contains(body, "/feeds/") {
		t.Error("the secret of the feed is shown again")
	}
	status, titles, body := s.feedOf(t, address)
	if status != 200 || len(titles) != 1 || titles[0] != "Ann's walrus" || !strings.Contains(body, "/meetings/71?t=125&amp;q=walrus#e0") || strings.Contains(body, "<b>") {
		t.Errorf("the feed: %d, %q, %s", status, titles, body)
	}
	for _, wrong := range []string{address + "x", s.URL + "/feeds/", s.URL + "/feeds/1"} {
		if status, _, _ := s.feedOf(t, wrong); status == 200 {
			t.Errorf("%s is answered", wrong)
		}
	}
	client := s.Client
	s.Client = admin // the secret is of this feed alone, and the search of its owner
	s.wants(404, "POST", "/saved/1/feed", url.Values{})
	resp, _ := s.do("GET", "/api/v1/me", nil, "Authorization", "Bearer "+address[strings.LastIndex(address, "/")+1:])
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the secret of a feed opens /api/v1: %d", resp.StatusCode)
	}
	s.Client = client
	again := s.wants(200, "POST", "/saved/1/feed", url.Values{})
	if status, _, _ := s.feedOf(t, address); status != 404 {
		t.Errorf("an address that was replaced is answered %d", status)
	}
	address = regexp.MustCompile(`http://localhost[^<]*/feeds/[\w-]+`).FindString(again)
	if err := s.people.RemovePerson(t.Context(), access.ActorCommand, ann.ID); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.feedOf(t, address); status != 404 {
		t.Errorf("the feed of a person who was removed: %d", status)
	}
}

// TestFeedsKnowTheirMeetings reads a feed under two names of the page: it has the same meetings,
// which a reader has seen already, and is XML whatever a title has.
func TestFeedsKnowTheirMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, json.RawMessage(strings.Replace(string(meeting(7, "TITLE", "2026-06-10T09:00:00Z", "")), "TITLE", `Walrus \u0001\ufffe & \u0000`, 1)))
	words := strings.Repeat("walrus ", 128) // as many words as a query may have, and more than a question has
	saved, err := s.server.Notes.Save(t.Context(), 0, "Herd \x01", words)
	must(t, err)
	secret, err := s.server.Notes.MakeFeed(t.Context(), 0, saved.ID, time.Time{})
	must(t, err)
	read := func(host string) (f atomFeed) {
		resp, body := s.get("/feeds/"+secret, "Host", host)
		if err := xml.Unmarshal([]byte(body), &f); resp.StatusCode != 200 || err != nil || len(f.Entries) != 1 || !strings.HasPrefix(f.Entries[0].Link.Href, "http://"+host+"/meetings/7") || !slices.Contains(f.Links, atomLink{"self", "http://" + host + "/feeds/" + secret}) {
			t.Fatalf("the feed at %s: %s, %v, %s", host, resp.Status, err, body)
		}
		return f
	}
	here, there := read("localhost"), read("notes.example")
	if here.ID != there.ID || here.Updated != there.Updated || here.Entries[0].ID != there.Entries[0].ID || here.Entries[0].Updated != there.Entries[0].Updated {
		t.Errorf("%+v is not %+v", here, there)
	}
}

// TestFeedsOfTheOwnerEndWithSignIn reads the feed of an owner, and again once people sign in.
func TestFeedsOfTheOwnerEndWithSignIn(t *testing.T) {
	s := newTalkSite(t)
	saved, err := s.server.Notes.Save(t.Context(), 0, "Budget", "budget sort:relevance")
	if err != nil {
		t.Fatal(err)
	}
	secret, err := s.server.Notes.MakeFeed(t.Context(), 0, saved.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	loose, err := s.server.Notes.Save(t.Context(), 0, "Loose", "budget xylophone")
	if err != nil {
		t.Fatal(err)
	}
	loosened, err := s.server.Notes.MakeFeed(t.Context(), 0, loose.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if body := s.shows(200, "/feeds/"+loosened, "<title>Loose</title>"); strings.Contains(body, "<entry>") {
		t.Error("a feed has meetings that its search does not find")
	}
	body := s.shows(200, "/feeds/"+secret, "<title>Budget talk</title>", "<title>Plans</title>", "Bo Lindqvist: ")
	if strings.Index(body, "Budget talk") > strings.Index(body, "Plans") {
		t.Error("the feed is not newest first")
	}
	people, err := access.Open(t.Context(), access.Options{Archive: s.archive, Now: s.options().Now})
	if err != nil {
		t.Fatal(err)
	}
	s.server.Entry.People = people
	s.shows(404, "/feeds/"+secret, "There is no such feed.")
}

// TestAnInvitationEndsFeedsAndWebhooks resets an account whose saved searches somebody else
// may have been told of.
func TestAnInvitationEndsFeedsAndWebhooks(t *testing.T) {
	testrun.SkipUnderRace(t)
	t.Parallel()
	s := newEntrySite(t, nil)
	s.add("boss@acme.example", true)
	ann, bob := s.signIn("ann@acme.example", false), s.signIn("bob@acme.example", false)
	keep := func(p access.Person, notify string) (id int64, feed string) {
		saved, err := s.notes.Save(t.Context(), p.ID, notify, "walrus")
		must(t, err)
		feed, err = s.notes.MakeFeed(t.Context(), p.ID, saved.ID, time.Time{})
		must(t, err)
		_, err = s.notes.SetNotify(t.Context(), p.ID, saved.ID, notify, time.Time{})
		must(t, err)
		return saved.ID, "/feeds/" + feed
	}
	hook, feed := keep(ann, "https://hooks.example/eve")
	mail, _ := keep(ann, "mailto:ann@acme.example")
	bobs, other := keep(bob, "https://hooks.example/bob")
	secret, _, err := s.people.Invite(t.Context(), access.ActorCommand, ann.ID)
	must(t, err)
	s.wants(200, "GET", "/invitation?secret="+secret, nil, "feeds and webhooks")
	long := strings.Repeat("x", access.MaxPassword+1)
	s.wants(422, "POST", "/invitation", url.Values{"secret": {secret}, "password": {long}, "again": {long}})
	s.wants(200, "GET", feed, nil) // nothing is reset
	s.wants(303, "POST", "/invitation", url.Values{"secret": {secret}, "password": {"another good one"}, "again": {"another good one"}})
	s.wants(404, "GET", feed, nil)
	s.wants(200, "GET", other, nil)
	for _, want := range []struct {
		person access.Person
		id     int64
		notify string
	}{{ann, hook, ""}, {ann, mail, "mailto:ann@acme.example"}, {bob, bobs, "https://hooks.example/bob"}} {
		if saved, err := s.notes.SavedByID(t.Context(), want.person.ID, want.id); err != nil || saved.Notify != want.notify {
			t.Errorf("%s is notified at %q: %v, want %q", saved.Name, saved.Notify, err, want.notify)
		}
	}
}
