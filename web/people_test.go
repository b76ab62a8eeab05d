package web

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"minutebook/archive/notes"
	"minutebook/archive/roster"
	"minutebook/internal/testrun"
)

// post sends a form and returns the answer, which is not followed.
func (s *site) post(address string, form url.Values, header ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+address, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.Client{CheckRedirect: stay}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// changes sends a form that leads to an address.
func (s *site) changes(address string, form url.Values, leadsTo string) {
	s.t.Helper()
	if resp := s.post(address, form); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != leadsTo {
		s.t.Errorf("POST %s %v: %d to %q, want %q", address, form, resp.StatusCode, resp.Header.Get("Location"), leadsTo)
	}
}

// spoken is a meeting in which Bo, invited under an address, speaks by another name.
func spoken(id int64, start, name, address string) []byte {
	return meeting(id, fmt.Sprint("Call ", id), start, fmt.Sprintf(`"recording_end_time":%q,"calendar_invitees":[{"name":%q,"email":%q,"matched_speaker_display_name":"B. L."}],
		"transcript":[{"speaker":{"display_name":"B. L."},"text":"A long <b>passage</b> of %d.","timestamp":"00:00:05"}],
		"action_items":[{"description":"Send %d","assignee":{"name":%q,"email":%q},"recording_timestamp":"00:00:07"}]`,
		strings.Replace(start, "T10", "T13", 1), name, address, id, id, name, address))
}

func TestPeopleAreListedAndShown(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, spoken(1, "2026-06-01T10:00:00Z", "Bo Lee", "bo@acme.example"), spoken(2, "2026-06-02T10:00:00Z", "Bo Lee", "bo@acme.example"))
	s.shows(200, "/people", "2 people", `href="/people/bo@acme.example"`, "2 meetings", "6 h", "100% of the talk", "2 open", "2 Jun 2026")
	if body := s.shows(200, "/people?q=LÉE+bo", "1 person found"); strings.Contains(body, "Ana") {
		t.Error("the filter finds others")
	}
	s.shows(200, "/people?q=xyz", "Nobody found")
	s.shows(200, "/people/bo@acme.example", "<h1 dir=\"auto\">Bo Lee</h1>", "2 June 2026", "A long &lt;b&gt;passage&lt;/b&gt; of 2.", `href="/meetings/2?t=5#e0"`,
		"Send 1", "Ana Ruiz", `href="/actions?person=bo%40acme.example&amp;state=all"`, `href="/?person=bo%40acme.example"`, "The same person")
	s.shows(200, "/people/"+url.PathEscape("Bo Lee"), "bo@acme.example")
	s.shows(404, "/people/nobody@acme.example", "Nobody of this name")
	// To who sees no meeting, Bo is not there: as somebody who never was.
	for _, path := range []string{"/people/bo@acme.example", "/people/nobody@acme.example"} {
		if resp, body := s.get(path, "Test-Person", "x@example.com"); resp.StatusCode != 404 || strings.Contains(body, "Bo Lee") {
			t.Errorf("%s for a stranger: %d", path, resp.StatusCode)
		}
	}
	var list struct{ People []personJSON }
	s.answer(200, "/api/v1/people?q=bo", &list)
	if len(list.People) != 1 || list.People[0].Key != "bo@acme.example" || list.People[0].TalkShare != 1 || list.People[0].OpenItems != 2 {
		t.Errorf("people %+v", list.People)
	}
	var person struct {
		personJSON
		RecordingIDs []int64 `json:"recording_ids"`
		With         []personJSON
	}
	s.answer(200, "/api/v1/people/bo@acme.example", &person)
	if fmt.Sprint(person.RecordingIDs) != "[2 1]" || len(person.With) != 1 || person.With[0].Name != "Ana Ruiz" {
		t.Errorf("Bo %+v", person)
	}
	s.answer(404, "/api/v1/people/nobody", &struct{}{})
}

func TestPeopleAreMergedAndUndone(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, spoken(1, "2026-06-01T10:00:00Z", "Bo Lee", "bo@acme.example"), spoken(2, "2026-06-02T10:00:00Z", "Bo Lee", "lee@acme.example"),
		meeting(3, "Plan", "2026-06-03T10:00:00Z", `"transcript":[{"speaker":{"display_name":"Bo Lee"},"text":"Bare.","timestamp":"00:00:01"}]`))
	s.shows(200, "/people", "4 people", "Perhaps the same person", "One person: bo@acme.example and lee@acme.example")
	s.changes("/people/merge", url.Values{"keep": {"bo@acme.example"}, "other": {"lee@acme.example"}}, "/people/bo@acme.example")
	s.shows(200, "/people", "3 people", "One person: bo@acme.example and Bo Lee")
	s.changes("/people/apart", url.Values{"keep": {"bo@acme.example"}, "other": {"Bo Lee"}, "back": {"//evil.example"}}, "/")
	if body := s.shows(200, "/people", "3 people"); strings.Contains(body, "Perhaps the same") {
		t.Error("two persons are suggested again")
	}
	body := s.shows(200, "/people/lee@acme.example", "bo@acme.example, lee@acme.example", "Call 1", "Call 2")
	id := regexp.MustCompile(`name="merge" value="(\d+)"`).FindStringSubmatch(body)
	s.shows(200, "/actions?person=lee@acme.example", "Send 1", "Send 2", `<span class="n">2</span>`)
	s.shows(200, "/?person=lee@acme.example", "Call 1", "Call 2")
	var found struct {
		Total int
	}
	s.answer(200, "/api/v1/search?q=person:lee@acme.example&facets=true", &found)
	if found.Total != 2 {
		t.Errorf("search finds %d meetings of the merged person", found.Total)
	}
	for _, visitor := range [][]string{{"Test-Person", "ana@acme.example"}} { // sees all, and is no admin
		if resp := s.post("/people/undo", url.Values{"merge": {id[1]}}, visitor...); resp.StatusCode != 404 {
			t.Errorf("undone by who is no admin: %d", resp.StatusCode)
		}
	}
	s.changes("/people/undo", url.Values{"merge": {id[1]}}, "/people")
	s.shows(200, "/people", "4 people")
	for field, want := range map[string]int{"keep": 422, "other": 404} {
		form := url.Values{"keep": {"bo@acme.example"}, "other": {"bo@acme.example"}}
		if want == 404 {
			form.Set(field, "nobody@acme.example")
		}
		if resp := s.post("/people/merge", form); resp.StatusCode != want {
			t.Errorf("merge %v: %d", form, resp.StatusCode)
		}
	}
	if resp := s.post("/people/merge", url.Values{"keep": {"bo@acme.example"}, "other": {"Bo Lee"}}, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != 403 {
		t.Errorf("a form of another site: %d", resp.StatusCode)
	}
}

// TestMergedNamesTellNothingOfHiddenMeetings merges a name of a meeting that Ann does not
// see with one that she sees: asked for the hidden name, everything answers as for nobody.
func TestMergedNamesTellNothingOfHiddenMeetings(t *testing.T) {
	testrun.SkipUnderRace(t)
	call := func(id int64, who, invited string) []byte {
		return meeting(id, "Call", "2026-06-01T10:00:00Z", fmt.Sprintf(`"shared_with":"no_teams","recorded_by":{"name":"R","email":%q},"calendar_invitees":[{"name":"Bo Lee","email":%q}],
			"action_items":[{"description":"Send","assignee":{"name":"Bo Lee","email":%q},"recording_timestamp":"00:00:07"}]`, who, invited, invited))
	}
	s := newSite(t, call(1, "ann@acme.example", "bo@acme.example"), call(2, "cy@acme.example", "hidden@acme.example"))
	s.changes("/people/merge", url.Values{"keep": {"hidden@acme.example"}, "other": {"bo@acme.example"}}, "/people/hidden@acme.example")
	sealed := regexp.MustCompile(`data-from="[^"]*"`) // a place in the change log, which never looks the same
	for _, path := range []string{"/api/v1/search?q=person:%s", "/api/v1/search?q=email:%s", "/api/v1/search?q=assignee:%s", "/api/v1/trends?by=person&q=person:%s", "/api/v1/meetings?person=%s",
		"/api/v1/action-items?person=%s", "/?person=%s", "/?q=person:%s", "/actions?person=%s", "/people/%s", "/api/v1/people/%s"} {
		var bodies []string
		for _, name := range []string{"hidden@acme.example", "hiddex@acme.example"} {
			_, body := s.get(fmt.Sprintf(path, url.QueryEscape(name)), "Test-Person", "ann@acme.example")
			for _, spelling := range []string{name, url.QueryEscape(name)} {
				body = strings.ReplaceAll(body, spelling, "X")
			}
			bodies = append(bodies, sealed.ReplaceAllString(body, ""))
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s tells that somebody has the hidden name", path)
		}
		if _, body := s.get(fmt.Sprintf(path, "bo@acme.example"), "Test-Person", "ann@acme.example"); strings.Contains(body, "hidden@") {
			t.Errorf("%s for the name that Ann sees tells the hidden one", path)
		}
	}
	var found struct{ Total int }
	if s.answer(200, "/api/v1/search?q=person:bo@acme.example", &found); found.Total != 2 {
		t.Errorf("the owner finds %d meetings of the merged person", found.Total)
	}
}

// TestMergedNameOfAHiddenMeetingIsNoWord merges a person whom Ana sees with a name that only a
// hidden meeting has, and that is a word of another person's name.
func TestMergedNameOfAHiddenMeetingIsNoWord(t *testing.T) {
	said := func(name string) string {
		return `"shared_with":"no_teams","transcript":[{"speaker":{"display_name":"` + name + `"},"text":"A walrus.","timestamp":"00:00:01"}]`
	}
	s := newSite(t, meeting(1, "Herd", "2026-06-10T09:00:00Z", said("Cleo")), meeting(2, "Moonrise", "2026-06-11T09:00:00Z", said("Zed Moon")),
		[]byte(strings.ReplaceAll(string(meeting(3, "Hidden", "2026-06-12T09:00:00Z", said("Zed"))), "ana@acme", "bob@acme")))
	s.changes("/people/merge", url.Values{"keep": {"Cleo"}, "other": {"Zed"}}, "/people/Cleo")
	if _, body := s.get("/api/v1/people/Cleo", nobodyAna...); strings.Contains(body, "Zed") || !strings.Contains(body, `"meetings":1`) {
		t.Fatalf("the list of people: %s", body)
	}
	for query, other := range map[string]string{"person:Cleo": "Moonrise", "speaker:Cleo": "Moonrise", "speaker:Cleo+walrus": "Moonrise", "person:Zed": "Herd", "speaker:Zed+walrus": "Herd"} {
		if _, body := s.get("/api/v1/search?q="+query, nobodyAna...); strings.Contains(body, other) {
			t.Errorf("%s tells that Cleo is called Zed in a hidden meeting: %s", query, body)
		}
	}
	if _, body := s.get("/api/v1/facet?field=person&q=", nobodyAna...); strings.Contains(body, `{"value":"Cleo","count":2}`) {
		t.Errorf("the facet counts it for Cleo too: %s", body)
	}
	var found struct{ Total int }
	if s.answer(200, "/api/v1/search?q=speaker:Cleo", &found); found.Total != 3 { // a word of a name is enough
		t.Errorf("the owner finds %d meetings of the merged person", found.Total)
	}
}

// TestMergesTellNoNumberOfHiddenNames shows an admin, who sees one of the names, the merges of a person.
func TestMergesTellNoNumberOfHiddenNames(t *testing.T) {
	s := newSite(t)
	for _, names := range [][]string{{"Bo", "hidden"}, {"Bo", "hidden", "hidden too"}} {
		j, err := s.notes.Merge(t.Context(), 0, names...)
		if err != nil {
			t.Fatal(err)
		}
		groups, err := s.notes.Groups(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []merged{{ID: j.ID, Names: "Bo", Hidden: true}}
		if got := listMerges(groups, roster.Person{Key: "Bo", Names: []string{"Bo"}}); !slices.Equal(got, want) {
			t.Errorf("of %q: %+v; want %+v", names, got, want)
		}
		if err := s.notes.Undo(t.Context(), j.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestActionItemsAreTickedOffHere(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, spoken(1, "2026-06-21T10:00:00Z", "Bo Lee", "bo@acme.example"), spoken(2, "2025-06-02T10:00:00Z", "Bo Lee", "bo@acme.example"))
	item := url.Values{"meeting": {"1"}, "at": {"7000"}, "text": {"Send 1"}, "done": {"yes"}, "back": {"/actions?state=all"}}
	s.shows(200, "/actions", `name="at" value="7000"`, "Send 1", "Send 2")
	s.changes("/actions/tick", item, "/actions?state=all")
	if body := s.shows(200, "/actions", "Send 2"); strings.Contains(body, "Send 1") {
		t.Error("a ticked item is among the open ones")
	}
	s.shows(200, "/actions?state=done", "Send 1", "done here, 1 Jul 2026", "Open again: Send 1")
	var list struct {
		Items []actionJSON `json:"action_items"`
		Next  string
	}
	s.answer(200, "/api/v1/action-items?state=done", &list)
	if len(list.Items) != 1 || !list.Items[0].DoneHere || list.Items[0].Completed {
		t.Errorf("done items %+v", list.Items)
	}
	s.answer(200, "/api/v1/action-items?state=all&limit=1", &list)
	next := list.Next
	list.Next = ""
	s.answer(200, "/api/v1/action-items?state=all&limit=1&cursor="+next, &list)
	if len(list.Items) != 1 || list.Items[0].RecordingID != 2 || list.Next != "" {
		t.Errorf("the second page %+v, %q", list.Items, list.Next)
	}
	item.Set("done", "no")
	s.changes("/actions/tick", item, "/actions?state=all")
	s.shows(200, "/actions?q=SEND+1", "Send 1")
	for address, want := range map[string]string{"/actions?q=send+2": "Send 2", "/actions?age=old": "Send 2", "/actions?age=month": "Send 1", "/actions?sort=oldest&q=send": "Send 2"} {
		body := s.shows(200, address, want)
		if first := regexp.MustCompile(`class="todo" dir="auto">(Send \d)`).FindStringSubmatch(body); len(first) < 2 || first[1] != want {
			t.Errorf("%s begins with %v, want %s", address, first, want)
		}
	}
	s.shows(400, "/actions?age=never")
	for field, value := range map[string]string{"text": "Never agreed", "at": "7001", "meeting": "9"} {
		wrong := url.Values{"meeting": {"1"}, "at": {"7000"}, "text": {"Send 1"}}
		wrong.Set(field, value)
		if resp := s.post("/actions/tick", wrong); resp.StatusCode != 404 {
			t.Errorf("ticked %s %s: %d", field, value, resp.StatusCode)
		}
	}
	hidden, never := s.post("/actions/tick", item, "Test-Person", "x@example.com"), url.Values{"meeting": {"9"}, "at": {"7000"}, "text": {"Send 1"}}
	if hidden.StatusCode != 404 || s.post("/actions/tick", never, "Test-Person", "x@example.com").StatusCode != 404 {
		t.Errorf("ticked by a stranger: %d", hidden.StatusCode)
	}
}

// TestNewsComeWholeInPages reads more news than a page has while one more meeting arrives, which
// is all that is news when the visitor has looked.
func TestNewsComeWholeInPages(t *testing.T) {
	s := newSite(t)
	recent := time.Now() // the archive of the tests dates changes by the machine's clock
	s.now.Store(&recent)
	var arrived []json.RawMessage
	for id := range int64(2*mostNews + 1) {
		arrived = append(arrived, meeting(id+1, "Weekly", "2026-03-05T10:00:00Z", ""))
	}
	s.apply(arrived...)
	type page struct {
		Next, Until string
		Total       int
		Meetings    []struct {
			ID int64 `json:"recording_id"`
		}
	}
	var p page
	s.answer(200, "/api/v1/now", &p)
	count, late := p.Total, int64(9000)
	s.later(meeting(late, "Late", "2026-03-06T10:00:00Z", ""))
	read := map[int64]int{}
	for pages := 1; ; pages++ {
		for _, m := range p.Meetings {
			read[m.ID]++
		}
		if p.Next == "" || pages > 3 {
			break
		}
		next := p.Next
		p = page{}
		s.answer(200, "/api/v1/now?cursor="+next, &p)
	}
	if count <= 2*mostNews || len(read) != count || read[late] != 0 {
		t.Errorf("%d meetings in pages, want %d", len(read), count)
	}
	for id, times := range read {
		if times != 1 {
			t.Errorf("meeting %d comes %d times", id, times)
		}
	}
	s.changes("/now/looked", url.Values{"until": {p.Until}}, "/now")
	p = page{}
	if s.answer(200, "/api/v1/now", &p); len(p.Meetings) != 1 || p.Meetings[0].ID != late {
		t.Errorf("news after looking: %+v", p.Meetings)
	}
}

func TestNowTellsWhatArrivedSinceOneLooked(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t)
	recent := time.Now() // the archive of the tests dates changes by the machine's clock
	s.now.Store(&recent)
	s.apply(meeting(1, "First", "2026-03-05T10:00:00Z", ""))
	until := func(body string) url.Values {
		m := regexp.MustCompile(`name="until" value="([^"]+)"`).FindStringSubmatch(body)
		if m == nil {
			t.Fatal("the page names no position")
		}
		return url.Values{"until": m[1:]}
	}
	body := s.shows(200, "/now", "In the last 7 days", "First", "new")
	s.changes("/now/looked", until(body), "/now")
	s.shows(200, "/now", "Since you last looked", "nothing arrived or changed")
	s.later(meeting(2, "Second", "2026-03-06T10:00:00Z", ""), meeting(1, "First renamed", "2026-03-05T10:00:00Z", `"default_summary":{"markdown_formatted":"It went well."}`))
	body = s.shows(200, "/now", "2 meetings arrived or changed", "Second", "First renamed", "<span>summary</span>", ">changed<", ">new<")
	s.later(meeting(3, "Third", "2026-03-07T10:00:00Z", ""))
	s.changes("/now/looked", until(body), "/now")
	if body := s.shows(200, "/now", "1 meeting arrived", "Third"); strings.Contains(body, "Second") {
		t.Error("what was seen is news again")
	}
	if _, body := s.get("/now", "Test-Person", "x@example.com"); strings.Contains(body, "Third") || !strings.Contains(body, "nothing arrived") {
		t.Error("a stranger is told of meetings")
	}
	var news struct {
		Total    int
		Meetings []struct{ New bool }
	}
	s.answer(200, "/api/v1/now", &news)
	if news.Total != 1 || len(news.Meetings) != 1 || !news.Meetings[0].New {
		t.Errorf("news %+v", news)
	}
	s.changes("/now/looked", url.Values{"until": {strings.Repeat("A", 80)}}, "/now") // named by an earlier process
	if resp := s.post("/now/looked", url.Values{"until": {"x"}}); resp.StatusCode != 400 {
		t.Errorf("a position that is none: %d", resp.StatusCode)
	}
}

func TestSearchFindsNotesThatTheVisitorReads(t *testing.T) {
	testrun.SkipUnderRace(t)
	s := newSite(t, meeting(1, "Plan", "2026-03-05T10:00:00Z", ""), meeting(2, "Other", "2026-03-05T11:00:00Z", ""))
	for _, n := range []notes.Note{{RecordingID: 1, Text: "the walrus remark", Person: 7, Private: true}, {RecordingID: 2, Text: "a walrus for all", Person: 7}} {
		if _, err := s.notes.Add(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	for visitor, want := range map[string]int{"": 1, "ana@acme.example": 1, "x@example.com": 0} {
		_, body := s.get("/api/v1/search?q=note:walrus", "Test-Person", visitor)
		if !strings.Contains(body, fmt.Sprintf(`"total":%d,`, want)) {
			t.Errorf("%q finds %s, want %d", visitor, body[:min(len(body), 200)], want)
		}
	}
	if _, err := s.notes.Add(t.Context(), notes.Note{RecordingID: 2, At: 83 * time.Second, Text: "here is a seal <b>"}); err != nil {
		t.Fatal(err)
	}
	s.shows(200, "/?q=note:seal", `href="/meetings/2?t=83`, "here is a seal &lt;b&gt;", `<span class="where">Note</span>`)
}

// TestNotesAreFoundAsTranscriptsAre has the same texts said in meetings and written as notes on
// others: note: finds a note by the same words by which a search finds the speech.
func TestNotesAreFoundAsTranscriptsAre(t *testing.T) {
	testrun.SkipUnderRace(t)
	texts := []string{"東京で会議の議事録を送る", "下次會議記錄", "การประชุมวันนี้", "Send the e-mail about ABC-123.", "Résumés of both BUDGETS", "The beginning of the week", "5月にA社と", "Бюджеты на год", "ÁRVÍZTŰRŐ"}
	var meetings []json.RawMessage
	for i, said := range texts {
		meetings = append(meetings, meeting(int64(i+1), "Plan", "2026-03-05T10:00:00Z", fmt.Sprintf(`"transcript_language":"en","transcript":[{"speaker":{"display_name":"Ana"},"text":%q,"timestamp":"00:00:01"}]`, said)),
			meeting(int64(i+101), "Plan", "2026-03-05T10:00:00Z", ""))
	}
	s := newSite(t, meetings...)
	for i, written := range texts {
		if _, err := s.notes.Add(t.Context(), notes.Note{RecordingID: int64(i + 101), At: time.Second, Text: written}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(q string) (ids []int64) {
		var found struct {
			Meetings []struct {
				ID int64 `json:"recording_id"`
			}
		}
		s.answer(200, "/api/v1/search?limit=100&q="+url.QueryEscape(q), &found)
		for _, m := range found.Meetings {
			ids = append(ids, m.ID%100)
		}
		slices.Sort(ids)
		return ids
	}
	for _, words := range []string{"会議", "議", "録を", `"東京で会議"`, "會議", "ประชุม", "วันนี้", "email", "E-Mail", "emails", `"send the email"`, "abc123", "123", "resume", "RÉSUMÉS", "budget", "budgts~",
		"beg*", `"of the"`, "the", "5月", "A社", "бюджеты", "бюдж*", "arvizturo", "árvíz*"} {
		if said, noted := find(words), find("note:"+words); len(said) == 0 || !slices.Equal(said, noted) {
			t.Errorf("%s is said in %v, and noted in %v", words, said, noted)
		}
	}
	for _, words := range []string{"京東", `"the send"`, "mai", "beginnings~x", `"week of"`, "会録", "社A"} {
		if noted := find("note:" + words); len(noted) > 0 {
			t.Errorf("%s is noted in %v", words, noted)
		}
	}
}

// TestPeopleOfAnyNameAreFound opens the page of somebody of each name, follows its links and
// sends its forms, as browsers do: with CR and LF for any end of a line, and without NUL.
func TestPeopleOfAnyNameAreFound(t *testing.T) {
	testrun.SkipUnderRace(t)
	for i, name := range []string{"Cy\nDe", "Cy\r\nDe", "Cy\rDe", "Cy\x00De", "Cy\tDe", " Cy De\t", "Cy  De", "\u202eCy De", "Cy\u00a0De", "Cy \"De\" Lee", "Cy «De»", "..", "Cy@Upper.example "} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			quoted, err := json.Marshal(name)
			must(t, err)
			who := fmt.Sprintf(`"name":%s`, quoted)
			if strings.Contains(name, "@") {
				who = fmt.Sprintf(`"name":"Cy","email":%s,"matched_speaker_display_name":"C."`, quoted)
			}
			s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", fmt.Sprintf(`"calendar_invitees":[{%s}],"transcript":[{"speaker":{"display_name":%s},"text":"A long walrus.","timestamp":"00:00:01"},
				{"speaker":{"display_name":"Zed"},"text":"No.","timestamp":"00:00:02"}],"action_items":[{"description":"Do it %d","assignee":{%s}}]`,
				who, map[bool]string{true: `"C."`, false: string(quoted)}[strings.Contains(name, "@")], i, who)),
				meeting(2, "Zebra", "2026-06-11T09:00:00Z", ""))
			asked := strings.Contains(s.shows(200, "/people"), `href="/people/`)
			people, err := s.server.Roster.People(t.Context(), roster.View{Viewer: owner().Viewer})
			must(t, err)
			at := slices.IndexFunc(people, func(p roster.Person) bool { return p.Key != "Zed" && p.Key != "ana@acme.example" })
			if !asked || at < 0 {
				t.Fatalf("people %+v", people)
			}
			key := people[at].Key
			body := s.shows(200, personAddress(key), "A long walrus.", "Walrus")
			for _, link := range regexp.MustCompile(`href="(/\?[^"]*)"`).FindAllStringSubmatch(body, -1) {
				if found := s.shows(200, html.UnescapeString(link[1]), `href="/meetings/1`); strings.Contains(found, "Zebra") {
					t.Errorf("%s finds others", link[1])
				}
			}
			sent := asSent(html.UnescapeString(regexp.MustCompile(`name="keep" value="([^"]*)"`).FindStringSubmatch(body)[1]))
			s.shows(200, "/?person="+url.QueryEscape(sent), "Walrus")
			s.shows(200, "/actions?person="+url.QueryEscape(sent), "Do it", `aria-current="true"`)
			s.changes("/people/merge", url.Values{"keep": {sent}, "other": {"Zed"}}, personAddress(key))
			_, err = s.archive.Forget(t.Context(), 2, "test") // which forgets the names that are in no meeting any more
			must(t, err)
			s.shows(200, personAddress(key), "Zed", `name="merge" value="1"`)
			s.changes("/people/undo", url.Values{"merge": {"1"}}, "/people")
			s.changes("/people/apart", url.Values{"keep": {"Zed"}, "other": {sent}}, "/people")
		})
	}
}

// TestPeopleAreOneWhateverTheLetters lists somebody whose name is written in several ways as
// one person: each page would show the first of them.
func TestPeopleAreOneWhateverTheLetters(t *testing.T) {
	testrun.SkipUnderRace(t)
	said := `"transcript":[{"speaker":{"display_name":%q},"text":"One.","timestamp":"00:00:01"}]`
	s := newSite(t, meeting(1, "Walrus", "2026-06-10T09:00:00Z", fmt.Sprintf(said, "Bo Lee")), meeting(2, "Zebra", "2026-06-11T09:00:00Z", fmt.Sprintf(said, "BO  LEE")))
	s.shows(200, "/people", "2 people")
	s.shows(200, "/people/bo%20lee", "Walrus", "Zebra")
	s.shows(200, "/?person=bo+lee", "Walrus", "Zebra")
}
