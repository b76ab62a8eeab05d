package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/inbox"
	"minutebook/internal/testrun"
	"minutebook/search"
	"minutebook/search/query"
	syncer "minutebook/sync"
)

func TestHomeListsByDayAndNarrows(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t,
		meeting(1, "Stand-up", "2026-07-01T08:30:00Z", `"meeting_type":"Sync"`),
		meeting(2, "Review", "2026-06-30T15:00:00Z", `"meeting_type":"Review","recording_end_time":"2026-06-30T16:05:00Z"`),
		meeting(3, "Kick-off", "2025-03-03T09:00:00Z", `"meeting_type":"Review"`))
	body := s.shows(200, "/", "Today", "Yesterday", "Monday, 3 March 2025", "1 h 5 min", "Stand-up", "Ana Ruiz",
		`href="/meetings/2"`, "3 meetings", `<option value="Sync">Sync</option>`)
	if strings.Index(body, "Stand-up") > strings.Index(body, "Kick-off") {
		t.Error("the list does not begin with the newest")
	}
	body = s.shows(200, "/?type=Review&person=Ana+Ruiz", "Kick-off", `<option value="Review" selected>Review</option>`)
	if strings.Contains(body, "Stand-up") {
		t.Error("the list is not narrowed to its type")
	}
	s.shows(200, "/?team=Nobody", "No such meetings", `<option value="Nobody" selected>Nobody</option>`)
	s.shows(400, "/?cursor=x", "no place")
}

func TestListGoesOnWithoutGapOrRepeat(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "First", "2026-01-01T09:00:00Z", ""))
	for id := int64(2); id <= 123; id++ { // several with the same start
		s.apply(meeting(id, fmt.Sprint("Nr ", id), fmt.Sprintf("2026-02-%02dT09:00:00Z", 1+id/10), ""))
	}
	seen := map[string]int{}
	next := "/"
	for pages := 0; next != "" && pages < 10; pages++ {
		body := s.shows(200, next)
		for _, m := range regexp.MustCompile(`data-id="(\d+)"`).FindAllStringSubmatch(body, -1) {
			seen[m[1]]++
		}
		next = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(body); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != 123 {
		t.Errorf("%d meetings on all pages, want 123", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("meeting %s is listed %d times", id, n)
		}
	}
}

func TestMeetingHoldsEverythingAndOpensAtItsMoment(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(7, "Budget", "2026-06-30T15:00:00Z", `"url":"https://svc.example/calls/9",
		"calendar_invitees":[{"name":"Bo Lee","email":"bo@out.example","is_external":true}],
		"default_summary":{"template_name":"General","markdown_formatted":"# Decided\n\n- **Ship** it ([0:20](https://svc.example/calls/9?timestamp=20.9))"},
		"action_items":[{"description":"Send the sheet","completed":false,"recording_timestamp":"00:00:20","assignee":{"name":"Bo Lee"}}],
		"highlights":[{"type":"Objection","summary":"Too dear","start_time":19.5,"end_time":30}],
		"crm_matches":{"deals":[{"name":"Renewal","amount":12500,"record_url":"https://crm.example/1"}]},
		"transcript":[{"speaker":{"display_name":"Ana Ruiz"},"text":"Good morning.","timestamp":"00:00:01"},
			{"speaker":{"display_name":"Bo Lee"},"text":"The budget is too small.","timestamp":"00:00:20"},
			{"speaker":{"display_name":"Bo Lee"},"text":"By half.","timestamp":"00:01:05"}]`))
	body := s.shows(200, "/meetings/7?t=64&q=budget", "Tuesday, 30 June 2026, 15:00 UTC", "Bo Lee",
		"<h3>Decided</h3>", "<strong>Ship</strong>", `href="?t=20"`, "Send the sheet", "Objection", "Too dear",
		"Renewal", "12\u202f500", `href="https://crm.example/1"`, "1 line", "The <mark>budget</mark> is too small.",
		`id="e1" class="v0 first here match">`, `href="?t=0:20" autofocus>0:20</a>`,
		`aria-label="Highlight: Too dear, 0:19"`, `aria-label="Action item: Send the sheet, 0:20"`)
	for _, file := range []string{"/meetings/7/transcript.vtt", "/meetings/7/transcript.srt", "/meetings/7/minutes.md", "/meetings/7/transcript.txt", "/api/v1/meetings/7"} {
		if head, _, _ := strings.Cut(body, "</header>\n\n<div"); !strings.Contains(head, `href="`+file+`" download="`) {
			t.Errorf("%s is not at the top of the page", file)
		}
		s.shows(200, file, "budget is too small")
	}
	if n := len(regexp.MustCompile(`<li id="e\d+" class="[^"]* here`).FindAllString(body, -1)); n != 1 {
		t.Errorf("%d lines are marked as the moment, want 1", n)
	}
	if strings.Count(body, `class="who" dir="auto">Bo Lee</span><a class="clock"`) != 1 {
		t.Error("a speaker who goes on is named again")
	}
	s.shows(200, "/meetings/7", "The recording is not here yet")
	s.shows(404, "/meetings/8", "no such meeting")
	s.shows(404, "/meetings/x")
	s.shows(404, "/nothing", "no page at this address")
}

func TestMeetingTellsThatItChanged(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"default_summary":{"markdown_formatted":"one"}`))
	if body := s.shows(200, "/meetings/1"); strings.Contains(body, "Changed since") {
		t.Error("a meeting that never changed says that it did")
	}
	s.apply(meeting(1, "Plan", "2026-06-30T15:00:00Z", ""),
		meeting(1, "Plan", "2026-06-30T15:00:00Z", `"default_summary":{"markdown_formatted":"two"}`))
	body := s.shows(200, "/meetings/1", "2 versions kept", "list (acme)", "<p>two</p>")
	m := regexp.MustCompile(`/api/v1/meetings/1/revisions/\d+`).FindAllString(body, -1)
	if len(m) != 2 {
		t.Fatalf("%d versions have an address, want 2", len(m))
	}
	_, first := s.get(m[0])
	_, second := s.get(m[1])
	if !strings.Contains(first+second, `"one"`) || !strings.Contains(first+second, `"two"`) {
		t.Errorf("the versions are %s and %s", first, second)
	}
	s.shows(404, "/api/v1/meetings/1/revisions/999")
}

func TestPlayerBeginsAtTheMomentWithoutScripts(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	s.attachVideo(s.ids[0])
	body := s.shows(200, fmt.Sprintf("/meetings/%d?t=754", s.ids[0]), "<video", `#t=754"`)
	if strings.Contains(body, "not here yet") {
		t.Error("the page says that there is no recording, and has one")
	}
}

func TestResultsLeadToTheMoment(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	body := s.shows(200, "/?q=budget", "<mark>budget</mark>", `class="n"`, "Leadership Review")
	m := regexp.MustCompile(`href="(/meetings/(\d+)\?t=(\d+)&amp;q=budget#e(\d+))"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatal("no moment has a link")
	}
	target := s.shows(200, strings.ReplaceAll(m[1], "&amp;", "&"), "<mark>budget</mark>")
	line := regexp.MustCompile(`id="e` + m[4] + `" class="[^"]*here[^"]*">`)
	if !line.MatchString(target) {
		t.Errorf("%s does not open at its line", m[1])
	}
	s.shows(400, "/?q=colour:red", "cannot be read", "There is no field", "Did you mean")
	s.shows(200, "/?q=zzyzx", "Nothing found")
	s.shows(400, "/api/v1/search?q=after:x", `"hint"`)
}

func TestFacetsNarrowAndWiden(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	body := s.shows(200, "/?q="+url.QueryEscape(`budget type:"Leadership Review"`), `class="on"`)
	if !strings.Contains(body, `href="/?q=budget"`) {
		t.Error("an active facet does not lead back to the query without it")
	}
	q, err := query.Parse("person:anna OR person:bob OR person:Anna person:carl")
	if err != nil {
		t.Fatal(err)
	}
	found := search.Facet{Field: "person", Values: []search.FacetValue{{Value: "anna", Count: 1}}}
	if got, want := newFacetValues(found, q)[0].Address, resultsAddress("person:bob person:carl"); got != want {
		t.Errorf("without anna the address is %s, want %s", got, want)
	}
}

func TestHostileContentStaysText(t *testing.T) {
	testrun.SkipUnderRace(t)
	const evil = `\"><script>alert(1)</script><img src=x onerror=alert(1)>`
	s := newSite(t, meeting(1, "x", "2026-06-30T15:00:00Z", strings.ReplaceAll(`"meeting_title":"EVIL","meeting_type":"EVIL",
		"url":"javascript:alert(1)","share_url":"https://x.example/\"EVIL",
		"calendar_invitees":[{"name":"EVIL","email":"EVIL"}],
		"default_summary":{"markdown_formatted":"EVIL\n\n[a](javascript:alert(1)) ![b](https://spy.example/p.png)"},
		"action_items":[{"description":"EVIL","assignee":{"name":"EVIL"}}],
		"highlights":[{"type":"EVIL","summary":"EVIL","start_time":1}],
		"crm_matches":{"companies":[{"name":"EVIL","record_url":"javascript:alert(1)"}],"error":"EVIL"},
		"transcript":[{"speaker":{"display_name":"EVIL"},"text":"EVIL needle","timestamp":"00:00:01"}]`, "EVIL", evil)))
	for _, page := range []string{"/", "/meetings/1?q=needle", "/actions", "/?q=needle", "/?q=" + url.QueryEscape(`<script>alert(1)</script>"`)} {
		_, body := s.get(page)
		for _, bad := range []string{"<script>alert", "<img", `href="javascript:`, "spy.example"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %s", page, bad)
			}
		}
	}
}

func TestActionsByPerson(t *testing.T) {
	testrun.SkipUnderRace(t)
	items := `"action_items":[{"description":"one","assignee":{"name":"Bo Lee","email":"bo@acme.example"}},
		{"description":"two","assignee":{"name":"Bo Lee"}},{"description":"three","completed":true,"assignee":null}]`
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", items))
	body := s.shows(200, "/actions", `<bdi>Bo Lee</bdi></a> <span class="n">2</span></h2>`, `href="/actions?person=bo%40acme.example"`)
	if strings.Contains(body, "three") {
		t.Error("a done item is among the open ones")
	}
	s.shows(200, "/actions?state=done", "Nobody yet", "three")
	s.shows(200, "/actions?person=Bo+Lee", "one", "two", `aria-current="true"`)
	s.shows(400, "/actions?state=half")
}

func TestStatusTellsWhatFails(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	s.shows(200, "/status", "Nothing fails at present", fmt.Sprintf("<b>%d</b><span>meetings</span>", len(s.ids)))
	err := s.archive.RecordFailure(t.Context(), archive.Failure{Account: "acme", Class: "download", What: "recording 7",
		RecordingID: 7, Reason: "the link had lapsed"})
	if err != nil {
		t.Fatal(err)
	}
	s.shows(200, "/status", "the link had lapsed", `href="/meetings/7"`)
	if resp, body := s.get("/readyz"); resp.StatusCode != http.StatusOK || body != "archive: ok\nindex: ok\n" {
		t.Errorf("readyz: %d %q", resp.StatusCode, body)
	}
	if resp, body := s.get("/healthz"); resp.StatusCode != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", resp.StatusCode, body)
	}
	s.shows(200, "/metrics", fmt.Sprintf(`minutebook_meetings{with="anything"} %d`, len(s.ids)),
		`minutebook_open_failures{account="acme",class="download"} 1`, `pattern="/healthz"`)
}

func TestStatusTellsOfAccountsAndRecordings(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	s.status = &syncer.Status{
		Accounts: []syncer.AccountStatus{
			{Name: "acme", Backfilled: true, LastSuccess: map[string]time.Time{syncer.JobCatchUp: at},
				Budget: []api.Usage{{Class: "heavy", Used: 3, Limit: 30, Waiting: 2}}},
			{Name: "other", Suspended: "the API key is refused", SuspendedSince: at}},
		Inbox:     inbox.Counts{Applied: 28, Quarantined: 1},
		Downloads: syncer.DownloadStatus{Queue: map[archive.DownloadState]int{archive.DownloadWanted: 4}, Rate: 2_400_000, Left: 90, Paused: "disk nearly full"},
		Problems:  []string{"the disk is nearly full"},
	}
	s.shows(200, "/status", "Account acme", "full history read", "1 Jul 2026, 12:00", "3 of 30, 2 waiting",
		"the API key is refused, since 1 Jul 2026", "<dt>quarantined</dt><dd>1</dd>", "<dt>waiting</dt><dd>4</dd>", "2.4 MB/s, 2 min left", "disk nearly full")
	var raw struct {
		Operations struct{ Inbox struct{ Applied int } }
	}
	if s.answer(200, "/api/v1/status", &raw); raw.Operations.Inbox.Applied != 28 {
		t.Errorf("the status as data: %+v", raw)
	}
}

func TestStatusTellsOfWaitingRulesAndOfRuns(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""))
	failure := archive.Failure{Account: "acme", Class: "job", What: syncer.JobBackfill, Reason: "404 Not Found", NextTry: at.Add(time.Hour)}
	if err := s.archive.RecordFailure(t.Context(), failure); err != nil {
		t.Fatal(err)
	}
	status := syncer.Status{
		Accounts: []syncer.AccountStatus{{Name: "acme", NextRun: map[string]time.Time{syncer.JobBackfill: at}, Running: []string{syncer.JobBackfill}}},
		Failures: []syncer.FailureStatus{{Account: "acme", Class: "job", What: syncer.JobBackfill, Running: true}},
	}
	hold := archive.RetentionHold{Rules: 1, Waiting: true, From: at, Meetings: 17, Recordings: 1, Bytes: 2_400_000}
	s.status = struct {
		syncer.Status
		Retention archive.RetentionHold `json:"retention"`
	}{status, hold}
	for address, person := range map[string]string{"/status": "ana@acme.example", "/api/v1/status": ""} {
		if resp, _ := s.get(address, "Test-Person", person); resp.StatusCode != 200 || s.shown.Load() {
			t.Errorf("%s: %s; new rules were shown, to %q", address, resp.Status, person)
		}
	}
	if resp, err := s.Client().Head(s.URL + "/status"); err != nil || resp.StatusCode != 200 || s.shown.Load() {
		t.Errorf("HEAD: %v; new rules were shown to nobody: %v", err, s.shown.Load())
	}
	s.index.Rebuild()
	if body := s.shows(200, "/status?banner", `data-live="indexing"`); s.shown.Load() || strings.Contains(body, "<main") {
		t.Errorf("the banner shows %.200q; new rules were shown: %v", body, s.shown.Load())
	}
	s.shows(200, "/status", "At 1 Jul 2026, 12:00 they begin to delete: 1 recording of 17 meetings, 2.4 MB.",
		"<td>not yet</td><td>running now</td>", "1 try since ", "; it is being tried now")
	if !s.shown.Load() {
		t.Error("the page does not show new rules")
	}
	s.status = struct {
		Retention archive.RetentionHold `json:"retention"`
	}{archive.RetentionHold{Rules: 1}}
	if body := s.shows(200, "/status"); strings.Contains(body, "retention") {
		t.Error("rules that are in force are said to wait")
	}
}

func TestBannerWhileIndexing(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSiteBehind(t, meeting(1, "One", "2026-06-30T15:00:00Z", ""), meeting(2, "Two", "2026-06-30T16:00:00Z", ""))
	s.shows(200, "/?q=two", "0%", "0 of 2 meetings", "as far as it is indexed")
	s.catchUp()
	if body := s.shows(200, "/?q=two", "1 meeting"); strings.Contains(body, `data-live="indexing"`) {
		t.Error("the banner stays when all is indexed")
	}
}

func TestMomentsAreAskedInEveryForm(t *testing.T) {
	testrun.SkipUnderRace(t)
	for text, want := range map[string]time.Duration{
		"83": 83 * time.Second, "83.5": 83500 * time.Millisecond, "83s": 83 * time.Second, "1m23s": 83 * time.Second,
		"1:23": 83 * time.Second, "1:02:03": 3723 * time.Second, "0": 0, "01:00:00": time.Hour,
		"": -1, "x": -1, "-3": -1, "-1:20": -1, "1:2:3:4": -1, "NaN": -1, "1e99": -1, "Inf": -1, "1:NaN": -1, "9999999h": -1, ":": -1,
	} {
		r := httptest.NewRequest("GET", "/meetings/1?t="+url.QueryEscape(text), nil)
		if got := parseMoment(r); got != want {
			t.Errorf("?t=%s is %s, want %s", text, got, want)
		}
	}
}

func TestLinksLeadToPages(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-06-30T15:00:00Z", `"url":"javascript:alert(1)","share_url":"//evil.example","meeting_url":"https://join.example/1",
		"transcript_language":"de","default_summary":{"template_name":"Summary","markdown_formatted":"x"},
		"transcript":[{"speaker":{"display_name":"Bo"},"text":"Guten Tag.","timestamp":"00:00:01"}],
		"action_items":[{"description":"Send it","completed":true,"assignee":{"name":"Bo"}}]`))
	body := s.shows(200, "/meetings/1", `href="https://join.example/1"`, "<small>German</small>", "<h2>Summary</h2>")
	for _, bad := range []string{"ZgotmplZ", "evil.example", "At the service", "Share link"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if body := s.shows(200, "/actions", "Nothing open"); strings.Contains(body, "Bo</bdi> <span") {
		t.Error("a person without an open item is listed among the open ones")
	}
	s.shows(200, "/actions?state=all", `<bdi>Bo</bdi> <span class="n">1</span>`)
	s.shows(200, "/?q=guten", "<h1", "<bdi>German</bdi>", `class="tally"`)
	s.shows(200, "/?q=team:Ops", `class="why" dir="auto">Of the team Ops.</p>`)
	body = s.shows(200, "/?q=xylophone+zebra", "Nothing found", "<h1>")
	if strings.Contains(body, "No meeting has all of these words") {
		t.Error("what finds nothing says that it found the most")
	}
}
