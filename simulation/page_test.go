package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/archive"
	syncer "minutebook/sync"
	"minutebook/web"
)

// The headers by which a request of the tests says who makes it; without the first it is
// the owner.
const (
	personHeader = "Test-Person"
	adminHeader  = "Test-Admin"
)

func identify(r *http.Request) (web.Visitor, error) {
	person, named := r.Header[personHeader]
	if !named {
		return web.Visitor{Viewer: archive.Viewer{All: true}, Admin: true}, nil
	}
	return web.Visitor{Viewer: archive.ViewerWith(strings.Split(person[0], ",")...), Admin: r.Header.Get(adminHeader) != ""}, nil
}

// sampleStatus is a daemon's state in which each account has failed.
func sampleStatus(context.Context, bool) (any, error) {
	status := syncer.Status{Problems: []string{"secretproblem"}}
	for _, name := range accounts {
		status.Accounts = append(status.Accounts, syncer.AccountStatus{Name: name, Suspended: "secret" + name})
		status.Failures = append(status.Failures, syncer.FailureStatus{Account: name, Class: "job", Reason: "secret" + name})
	}
	return status, nil
}

// absent is a number that no meeting ever had.
const absent = 424242

// person asks the page, by one address or several: as somebody signed in where there is a
// session or a token.
type person struct {
	emails        []string
	admin         bool
	cookie, token string
}

// String leaves the secrets out.
func (p person) String() string {
	return fmt.Sprintf("{%v admin %v, session %v, token %v}", p.emails, p.admin, p.cookie != "", p.token != "")
}

// rights returns the addresses that give the person rights: none where the person is out.
func (p person) rights(w *world) []string {
	if p.isOut(w) {
		return nil
	}
	return p.emails
}

func (p person) sees(w *world, m *meeting) bool {
	return slices.ContainsFunc(p.rights(w), func(email string) bool { return w.sees(email, m) })
}

func (p person) visible(w *world) (ids []int64) {
	for _, m := range w.sorted() {
		if p.sees(w, m) {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// crm lists whose CRM matches of a meeting the person sees.
func (p person) crm(w *world, m *meeting) (all []owned) {
	for _, email := range p.rights(w) {
		own, team := w.crmOf(email, m)
		all = slices.Concat(all, own, team)
	}
	return all
}

// hides fails where a text holds a word of a meeting that the person does not see, or of
// CRM matches that are others'.
func (p person) hides(w *world, path, text string) {
	w.t.Helper()
	for _, m := range w.sorted() {
		own := p.crm(w, m)
		for o := range m.crm {
			if !slices.Contains(own, o) && strings.Contains(text, crmWord(m.id, o)) {
				w.t.Fatalf("%v is told the CRM matches of %v of %d by %s: %s", p, o, m.id, path, text)
			}
		}
		for _, kind := range []string{"tit", "tra", "voi", "sum", "act", "doe"} {
			if !p.sees(w, m) && strings.Contains(text, word(kind, m.id)) {
				w.t.Fatalf("%v is told of %d by %s: %s", p, m.id, path, text)
			}
		}
	}
}

// ask asks the page as a person.
func (p person) ask(w *world, path string) *httptest.ResponseRecorder {
	return p.send(w, http.MethodGet, path, "")
}

// send makes a request as a person.
func (p person) send(w *world, method, path, body string) *httptest.ResponseRecorder {
	if p.cookie != "" || p.token != "" {
		return p.sendSignedIn(w, method, path, body)
	}
	r := httptest.NewRequestWithContext(w.ctx, method, path, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Host = "localhost"
	r.Header.Set(personHeader, strings.Join(p.emails, ","))
	if p.admin {
		r.Header.Set(adminHeader, "yes")
	}
	rec := httptest.NewRecorder()
	w.house.page.ServeHTTP(rec, r)
	return rec
}

// comparePages asks every route of the page as persons of all kinds.
func (w *world) comparePages(t *rapid.T) {
	for _, pattern := range w.house.page.Patterns() {
		if _, ok := pageRows[pattern]; !ok {
			w.t.Fatalf("the route %q has no row in the proof of who sees what", pattern)
		}
	}
	list := w.sorted()
	for range 3 {
		p := person{emails: rapid.SliceOfNDistinct(rapid.SampledFrom(allEmails()), 1, 2, rapid.ID).Draw(t, "visitor"), admin: rapid.IntRange(0, 3).Draw(t, "admin") == 0}
		page := list[rapid.IntRange(0, len(list)-1).Draw(t, "asked for"):]
		page = append(slices.Clone(page[:min(3, len(page))]), list[0])
		for _, pattern := range slices.Sorted(maps.Keys(pageRows)) {
			w.comparePage(p, pageRows[pattern], page)
		}
	}
	for _, email := range allEmails() { // limited shares are few
		w.comparePage(person{emails: []string{email}}, pageRows["GET /meetings/{id}/media/{kind}"], list)
	}
}

func (w *world) comparePage(p person, row pageRow, meetings []*meeting) {
	for _, path := range row.paths {
		if row.meeting {
			w.compareMeetingPage(p, row, path, meetings)
			continue
		}
		rec := p.ask(w, path)
		p.hides(w, path, rec.Body.String())
		if row.judge != nil {
			row.judge(w, p, path, rec)
		}
	}
}

// compareMeetingPage asks for meetings: hidden and forgotten ones are answered as one that
// never was, to the byte.
func (w *world) compareMeetingPage(p person, row pageRow, path string, meetings []*meeting) {
	ask := func(address string) *httptest.ResponseRecorder {
		if row.post {
			return p.send(w, http.MethodPost, address, row.body)
		}
		return p.ask(w, address)
	}
	unknown := ask(fmt.Sprintf(path, absent))
	w.wantSame(unknown.Code, http.StatusNotFound, "%v asks for what is not there: %s", p, path)
	for _, m := range meetings {
		address := fmt.Sprintf(path, m.id)
		rec := ask(address)
		p.hides(w, address, rec.Body.String())
		switch {
		case !p.sees(w, m):
			w.wantSame([]any{rec.Code, rec.Header(), rec.Body}, []any{unknown.Code, unknown.Header(), unknown.Body}, "%v asks for %s, which is hidden", p, address)
		case row.judge != nil:
			row.judge(w, p, address, rec)
		default:
			w.wantSame(rec.Code, http.StatusOK, "%v asks for %s", p, address)
		}
	}
}

// asked is the meeting whose number is in a path.
func (w *world) asked(path string) *meeting {
	for _, m := range w.meetings {
		if strings.Contains(path+"/", fmt.Sprintf("/meetings/%d/", m.id)) {
			return m
		}
	}
	w.t.Fatalf("%s names no meeting", path)
	return nil
}

func (w *world) judgeNothing(person, string, *httptest.ResponseRecorder) {}

// judgeList compares the meetings in an answer with those that the person sees.
func (w *world) judgeList(p person, path string, rec *httptest.ResponseRecorder) {
	var list struct {
		Total    *int `json:"total"`
		Indexed  *int `json:"indexed"`
		Known    *int `json:"known"`
		Meetings []struct {
			ID int64 `json:"recording_id"`
		}
		Items []struct {
			ID int64 `json:"recording_id"`
		} `json:"action_items"`
	}
	w.must(json.Unmarshal(rec.Body.Bytes(), &list))
	var got []int64
	for _, m := range append(list.Meetings, list.Items...) {
		got = append(got, m.ID)
	}
	slices.Sort(got)
	want := p.visible(w)
	w.wantSame(got, want, "%v is answered by %s", p, path)
	for _, n := range []*int{list.Total, list.Indexed, list.Known} {
		if n != nil {
			w.wantSame(*n, len(want), "%v is told a number by %s", p, path)
		}
	}
}

// judgeTrends compares the total of a query that holds for all meetings with those that
// the person sees.
func (w *world) judgeTrends(p person, path string, rec *httptest.ResponseRecorder) {
	var trends struct {
		Series []struct {
			Total int `json:"total"`
		} `json:"series"`
	}
	w.must(json.Unmarshal(rec.Body.Bytes(), &trends))
	w.wantSame(trends.Series[0].Total, len(p.visible(w)), "%v is told a number by %s", p, path)
}

// judgeStatus compares the counts with the meetings that the person sees, and the
// accounts with the person's own.
func (w *world) judgeStatus(p person, path string, rec *httptest.ResponseRecorder) {
	var status struct {
		Meetings   int
		Operations any
	}
	w.must(json.Unmarshal(rec.Body.Bytes(), &status))
	w.wantSame(status.Meetings, len(p.visible(w)), "%v is told how many meetings there are", p)
	w.wantSame(status.Operations != nil, p.admin, "%v is told of the operations", p)
	w.judgeAccounts(p, path, rec)
}

// judgeStatusPage looks how many meetings the page says that there are.
func (w *world) judgeStatusPage(p person, path string, rec *httptest.ResponseRecorder) {
	_, number, _ := strings.Cut(rec.Body.String(), `<ul class="tiles">`)
	number, _, _ = strings.Cut(number, `</b><span>meetings`)
	number = strings.TrimPrefix(strings.TrimSpace(number), "<li><b>")
	w.wantSame(number, strconv.Itoa(len(p.visible(w))), "%v is told by the page how many meetings there are", p)
	w.judgeAccounts(p, path, rec)
}

// judgeAccounts looks which accounts' state a page tells.
func (w *world) judgeAccounts(p person, path string, rec *httptest.ResponseRecorder) {
	for _, name := range accounts {
		own := slices.ContainsFunc(p.emails, func(email string) bool { return email != "" && slices.Contains(w.owns(email), name) })
		w.wantSame(strings.Contains(rec.Body.String(), "secret"+name), own || p.admin, "%v is told by %s how account %s does", p, path, name)
	}
	w.wantSame(strings.Contains(rec.Body.String(), "secretproblem"), p.admin, "%v is told by %s what does not work", p, path)
}

// mayPlay is 4.5 for a person with several addresses.
func (w *world) mayPlay(p person, m *meeting) bool {
	return slices.ContainsFunc(p.rights(w), func(email string) bool { return w.mayDownload(email, m) })
}

func (w *world) judgeMedia(p person, path string, rec *httptest.ResponseRecorder) {
	m, want := w.asked(path), http.StatusOK
	switch {
	case !w.mayPlay(p, m):
		want = http.StatusForbidden
	case !m.video:
		want = http.StatusNotFound
	default:
		w.wantSame(rec.Body.String(), film, "%v plays %s", p, path)
	}
	w.wantSame(rec.Code, want, "%v asks for %s, seen by %v", p, path, w.ways(p.emails[0], m))
}

// judgeClip looks that only who may play a recording is told more than that. The world's
// recordings are no films that could be cut.
func (w *world) judgeClip(p person, path string, rec *httptest.ResponseRecorder) {
	m := w.asked(path[:strings.Index(path, "?")])
	w.wantSame(rec.Code == http.StatusForbidden, !w.mayPlay(p, m), "%v asks for %s", p, path)
	w.wantSame(strings.Contains(rec.Body.String(), film), false, "%v is shown a film by %s", p, path)
}

func (w *world) judgeMayPlay(p person, path string, rec *httptest.ResponseRecorder) {
	var media struct {
		MayPlay bool `json:"may_play"`
		Video   string
	}
	w.must(json.Unmarshal(rec.Body.Bytes(), &media))
	m := w.asked(path)
	w.wantSame(media.MayPlay, w.mayPlay(p, m), "%v may play by %s", p, path)
	w.wantSame(media.Video != "", w.mayPlay(p, m) && m.video, "%v is given an address by %s", p, path)
}

// judgeCRM compares the CRM matches in a meeting with those that the person sees.
func (w *world) judgeCRM(p person, path string, rec *httptest.ResponseRecorder) {
	w.wantSame(rec.Code, http.StatusOK, "%v asks for %s", p, path)
	_, parts, err := api.SplitMeeting(rec.Body.Bytes())
	w.must(err)
	w.wantSame(len(parts[api.PartCRM]) > 0, len(p.crm(w, w.asked(path))) > 0, "%v is shown CRM matches by %s: %s", p, path, parts[api.PartCRM])
}
