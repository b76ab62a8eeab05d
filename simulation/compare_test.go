package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/search"
)

// allEmails returns the addresses as which the rooms are asked, a stranger's and
// nobody's among them.
func allEmails() []string {
	return slices.Concat(people, outsiders, []string{"stranger@c.example", ""})
}

func (w *world) compare(t *rapid.T) {
	for _, email := range allEmails() {
		w.compareLists(email)
		w.compareSearch(t, email)
	}
	for range 2 {
		w.compareAssistant(rapid.SampledFrom(allEmails()).Draw(t, "assistant"))
	}
	for _, email := range slices.Concat(people, outsiders) {
		w.compareService(email)
	}
	w.compareLinks()
	w.comparePages(t)
	w.compareSignedIn(t)
}

func (w *world) wantSame(got, want any, format string, args ...any) {
	w.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("%s: %v, by the specification %v", fmt.Sprintf(format, args...), got, want)
	}
}

// compareLists asks the archive itself: lists, principals, action items, those
// they are assigned to, and CRM matches.
func (w *world) compareLists(email string) {
	a, viewer, want := w.house.archive, archive.ViewerWith(email), w.visible(email)
	rows, err := a.List(w.ctx, archive.ListQuery{Viewer: viewer, IncludeGone: true})
	w.must(err)
	var listed, keyed []int64
	for _, r := range rows {
		listed = append(listed, r.RecordingID)
	}
	slices.Sort(listed)
	w.wantSame(listed, want, "%q is listed", email)
	principals, err := a.ViewerPrincipals(w.ctx, viewer)
	w.must(err)
	w.must(a.Visible(w.ctx, nil, func(v archive.Visibility) error {
		m := w.meetings[v.RecordingID]
		if slices.ContainsFunc(v.Principals, func(p string) bool { return slices.Contains(principals, p) }) {
			keyed = append(keyed, v.RecordingID)
		}
		w.wantSame(v.Outside, w.outside(m), "%d by %q is outside", m.id, m.read.recorder)
		w.wantSame(v.Gone, m.isGone(), "%d is gone", m.id)
		return nil
	}))
	slices.Sort(keyed)
	w.wantSame(keyed, want, "%q has principals for", email)
	items, err := a.ActionItems(w.ctx, archive.ActionQuery{Viewer: viewer})
	w.must(err)
	assignees, err := w.house.roster.Items(w.ctx, roster.View{Viewer: viewer}, roster.ItemQuery{State: roster.All})
	w.must(err)
	people, err := w.house.roster.People(w.ctx, roster.View{Viewer: viewer})
	w.must(err)
	var agreed []int64
	for _, i := range items {
		agreed = append(agreed, i.RecordingID)
	}
	slices.Sort(agreed)
	w.wantSame(agreed, want, "%q has the action items of", email)
	w.wantSame(len(assignees.People), len(want), "%q sees assignees", email)
	w.wantSame(len(assignees.Keys), len(want), "%q sees items of the roster", email)
	w.hides(email, "people", fmt.Sprintf("%+v", people))
	matches, err := a.CRMFor(w.ctx, viewer, want)
	w.must(err)
	for _, id := range want {
		w.sameCRM(email, w.meetings[id], string(matches[id]))
	}
}

// sameCRM checks the CRM matches of a visible meeting: the own before the team's.
func (w *world) sameCRM(email string, m *meeting, got string) {
	w.t.Helper()
	own, team := w.crmOf(email, m)
	if len(own) == 0 {
		own = team
	}
	if len(own) == 0 && (got == "" || got == "null") {
		return
	}
	if !slices.ContainsFunc(own, func(o owned) bool { return strings.Contains(got, crmWord(m.id, o)) }) {
		w.t.Fatalf("%q is shown CRM matches %s of %d, by the specification those of one of %v", email, got, m.id, own)
	}
}

func (w *world) search(email, query string) (a *search.Answer, found []int64) {
	a, err := w.house.index.Search(w.ctx, search.Request{Query: query, Viewer: archive.ViewerWith(email), Limit: 100, Facets: true, Histogram: true})
	w.must(err)
	for _, hit := range a.Meetings {
		found = append(found, hit.Row.RecordingID)
	}
	slices.Sort(found)
	w.wantSame(a.Total, len(found), "%q is told a total for %s", email, query)
	w.hides(email, query, fmt.Sprintf("%+v", a))
	return a, found
}

// hides fails where a text holds a word of a meeting that a person does not see,
// or of CRM matches, but for the words of the question.
func (w *world) hides(email, question, text string) {
	w.t.Helper()
	for _, m := range w.sorted() {
		own, team := w.crmOf(email, m)
		for o := range m.crm {
			if secret := crmWord(m.id, o); !slices.Contains(own, o) && !slices.Contains(team, o) && strings.Contains(text, secret) && !strings.Contains(question, secret) {
				w.t.Fatalf("%q is told the CRM matches of %v of %d by %s: %s", email, o, m.id, question, text)
			}
		}
		for _, kind := range []string{"tit", "tra", "voi", "sum", "act", "doe"} {
			if secret := word(kind, m.id); !w.sees(email, m) && strings.Contains(text, secret) && !strings.Contains(question, secret) {
				w.t.Fatalf("%q is told of %d by %s: %s", email, m.id, question, text)
			}
		}
	}
}

// compareSearch asks the index by words and keys. A phrase is never suggested
// another way, which would cost more than all else.
func (w *world) compareSearch(t *rapid.T, email string) {
	want := w.visible(email)
	a, found := w.search(email, "")
	w.wantSame(found, want, "%q finds by nothing", email)
	w.compareFacets(email, a)
	_, found = w.search(email, "tra*")
	w.wantSame(found, want, "%q finds by a beginning", email)
	for range 2 {
		field := rapid.SampledFrom([]string{"", "in:summary ", "in:actions ", "title:", "speaker:", "assignee:", "id:"}).Draw(t, "field")
		kind := map[string]string{"": "tra", "in:summary ": "sum", "in:actions ": "act", "title:": "tit", "speaker:": "voi", "assignee:": "doe"}[field]
		var alternatives []string
		for _, m := range w.sorted() {
			if kind == "" {
				alternatives = append(alternatives, fmt.Sprintf("(%s%d)", field, m.id))
			} else {
				alternatives = append(alternatives, fmt.Sprintf("(%s%q)", field, word(kind, m.id)))
			}
		}
		_, found := w.search(email, strings.Join(alternatives, " OR "))
		w.wantSame(found, want, "%q finds by %q", email, field)
	}
	name := rapid.SampledFrom(accounts).Draw(t, "through")
	var through []int64
	for _, m := range w.sorted() {
		if m.isKnown() && slices.Contains(w.owns(email), name) && w.isShown(email, m, name) {
			through = append(through, m.id)
		}
	}
	_, found = w.search(email, "account:"+name)
	w.wantSame(found, through, "%q finds by account:%s", email, name)
	list := w.sorted()
	w.compareSuggestion(email, list[rapid.IntRange(0, len(list)-1).Draw(t, "misspelt")])
	w.compareCRMSearch(email)
}

// compareEarly asks the index before it has followed the archive: newer meetings
// may be missing, and those whose right has ended must not be there.
func (w *world) compareEarly() {
	for _, email := range allEmails() {
		_, found := w.search(email, "")
		want := w.visible(email)
		found = slices.DeleteFunc(found, func(id int64) bool { return slices.Contains(want, id) })
		w.wantSame(len(found), 0, "%q still finds %v before the index follows", email, found)
	}
}

// compareCRMSearch asks the index by CRM matches.
func (w *world) compareCRMSearch(email string) {
	var words []string
	var matched []int64
	for _, m := range w.sorted() {
		for o := range m.crm {
			words = append(words, `"`+crmWord(m.id, o)+`"`)
		}
		if own, team := w.crmOf(email, m); len(own)+len(team) > 0 {
			matched = append(matched, m.id)
		}
	}
	if len(words) > 0 {
		_, found := w.search(email, strings.Join(words, " OR "))
		w.wantSame(found, matched, "%q finds by words of CRM matches", email)
	}
	for _, query := range []string{"has:crm", "in:crm", "deal"} {
		_, found := w.search(email, query)
		w.wantSame(found, matched, "%q finds by %s", email, query)
	}
}

// compareFacets counts the meetings that a person sees by kind, team and month.
func (w *world) compareFacets(email string, a *search.Answer) {
	counts := map[string]map[string]int{}
	for _, f := range a.Facets {
		counts[f.Field] = map[string]int{}
		for _, v := range f.Values {
			counts[f.Field][v.Value] = v.Count
		}
	}
	want := map[string]map[string]int{"type": {}, "team": {}, "month": {}, "has": {}}
	for _, id := range w.visible(email) {
		m := w.meetings[id]
		want["type"][m.kind()]++
		want["month"][m.start().Format("2006-01")]++
		if team := m.shownTeams[m.read.recorder]; team != "" {
			want["team"][team]++
		}
		own, team := w.crmOf(email, m)
		for has, present := range map[string]bool{"crm": len(own)+len(team) > 0, "video": m.video, "transcript": true, "summary": true, "actions": true} {
			if present {
				want["has"][has]++
			}
		}
	}
	for field, values := range want {
		w.wantSame(counts[field], values, "%q is told of %s", email, field)
	}
	bars := 0
	for _, b := range a.Histogram {
		bars += b.Count
	}
	w.wantSame(bars, len(w.visible(email)), "%q sees a chart of", email)
}

// compareSuggestion misspells a word of a meeting: it is put right for whoever
// sees the meeting.
func (w *world) compareSuggestion(email string, m *meeting) {
	want := ""
	if w.sees(email, m) {
		want = word("tra", m.id)
	}
	a, found := w.search(email, misspell(word("tra", m.id)))
	w.wantSame(len(found), 0, "%q finds a misspelt word", email)
	w.wantSame(a.DidYouMean, want, "%q is suggested", email)
}

// answer is a page of the service's list of meetings.
type answer struct {
	Next  api.Opt[string]              `json:"next_cursor"`
	Items []map[string]json.RawMessage `json:"items"`
}
