package years

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"minutebook/archive"
	"minutebook/archive/roster"
	"minutebook/internal/residue"
	"minutebook/search"
)

// question is a search and the meetings that have to answer it.
type question struct {
	text    string
	matches func(m *meeting) bool
}

// hasSummary reports whether a meeting ever gets a summary, action items and highlights.
func (m *meeting) hasSummary() bool { return !m.isMute }

func (m *meeting) start() time.Time { return m.created.Add(-m.length) }

// drawQuestion draws a search. Its matcher reads the meeting at the service.
func drawQuestion(g *rand.Rand, o *org) question {
	n, name := 1+g.IntN(5), o.people[g.IntN(len(o.people))].name
	m := o.meetings[g.IntN(len(o.meetings))]
	month := m.start().UTC().Format("2006-01")
	list := []question{
		{token(m.id), func(x *meeting) bool { return x == m }},
		{fmt.Sprintf(`"version %d"`, n), func(x *meeting) bool { return x.words == n || x.notes == n && x.hasSummary() }},
		{fmt.Sprintf(`in:transcript "version %d"`, n), func(x *meeting) bool { return x.words == n }},
		{fmt.Sprintf(`in:summary "version %d"`, n), func(x *meeting) bool { return x.notes == n && x.hasSummary() }},
		{fmt.Sprintf(`"task %d"`, n), func(x *meeting) bool { return x.items == n && x.hasSummary() }},
		{fmt.Sprintf(`title:%q`, strings.TrimPrefix(m.title, token(m.id)+" ")),
			func(x *meeting) bool {
				return strings.TrimPrefix(x.title, token(x.id)) == strings.TrimPrefix(m.title, token(m.id))
			}},
		{"recorded-by:" + name, func(x *meeting) bool { return x.recorder.name == name }},
		{"speaker:" + name + " spoken", func(x *meeting) bool { return x.speaker == name }},
		{"assignee:" + name, func(x *meeting) bool { return x.speaker == name && x.hasSummary() }},
		{"has:summary", (*meeting).hasSummary},
		{"-has:highlights", func(x *meeting) bool { return !x.hasSummary() }},
		{"is:private", func(x *meeting) bool { return x.sharing == "no_teams" }},
		{"action:done", func(x *meeting) bool { return x.items%2 == 1 && x.hasSummary() }},
		{"action:open", func(x *meeting) bool { return x.items%2 == 0 && x.hasSummary() }},
		{"on:" + month, func(x *meeting) bool { return x.start().UTC().Format("2006-01") == month }},
		{"before:" + month, func(x *meeting) bool { return x.start().UTC().Format("2006-01") < month }},
		{"type:Weekly", func(x *meeting) bool { return x.kind == "Weekly" }},
		{"-spoken", func(*meeting) bool { return false }},
	}
	q := list[g.IntN(len(list))]
	if r := list[g.IntN(len(list))]; g.IntN(3) == 0 {
		return question{"(" + q.text + ") OR (" + r.text + ")", func(x *meeting) bool { return q.matches(x) || r.matches(x) }}
	} else if g.IntN(3) == 0 && !strings.HasPrefix(r.text, "in:") { // in: cannot be negated
		return question{"(" + q.text + ") -(" + r.text + ")", func(x *meeting) bool { return q.matches(x) && !r.matches(x) }}
	}
	return q
}

// checkAnswers indexes the archive of a whole year and compares the meetings that each
// person finds, and their counts, with those at the service. Bleve cannot run in virtual
// time: this is after the end of it. It returns the first difference.
func (w *world) checkAnswers(t *testing.T, end time.Time) (finding string) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(abort); !ok {
				panic(p)
			}
			finding = strings.ReplaceAll(w.finding, w.dir, "")
		}
	}()
	ctx, now := t.Context(), func() time.Time { return end }
	ar, err := archive.Open(ctx, archive.Options{Dir: w.dataDir, Now: now, Logger: zerolog.Nop()})
	w.must(err, "open the archive of the year")
	defer ar.Close()
	index, err := search.Open(ctx, search.Options{Archive: ar, Now: now, Logger: zerolog.Nop()})
	w.must(err, "open the index")
	defer index.Close()
	w.must(index.CatchUp(ctx), "index the archive")
	var forgotten []string
	for id := range w.oracle.forgot {
		forgotten = append(forgotten, token(id))
	}
	if found := residue.FindAny(t, append(forgotten, w.secrets()...), w.dataDir); len(found) > 0 {
		w.fail("a word of a forgotten meeting or a secret is in %q after indexing", found)
	}
	g := newRand(w.seed, "questions")
	a := answers{w: w, ctx: ctx, archive: ar, index: index, roster: roster.New(ar)}
	for _, p := range w.org.people {
		a.comparePerson(p)
		a.questions = append(a.questions, asked{p, ""})
		for range 12 {
			q := drawQuestion(g, w.org)
			a.ask(p, q)
			a.questions = append(a.questions, asked{p, q.text})
		}
	}
	a.compareFollowed(t)
	return ""
}

// answers compares the answers of an archive and its index with the service.
type answers struct {
	w       *world
	ctx     context.Context
	archive *archive.Archive
	index   *search.Index
	roster  *roster.Roster

	questions []asked
}

// find returns the meetings that answer a person's query, and the facets.
func (a *answers) find(p *person, query string) (found []int64, facets []search.Facet) {
	r := search.Request{Query: query, Viewer: p.viewer(), Limit: 100, Facets: true}
	for {
		answer, err := a.index.Search(a.ctx, r)
		a.w.must(err, "search "+query)
		if answer.Relaxed != "" {
			return nil, nil
		}
		for _, hit := range answer.Meetings {
			found = append(found, hit.Row.RecordingID)
		}
		if facets == nil {
			facets = answer.Facets
		}
		if answer.Next == "" {
			if answer.Total != len(found) || !answer.Exact {
				a.w.fail("%s is told %d meetings for %s, and is shown %d", p.name, answer.Total, query, len(found))
			}
			slices.Sort(found)
			return found, facets
		}
		r.After = answer.Next
	}
}

// comparePerson compares everything that a person finds, and its counts.
func (a *answers) comparePerson(p *person) {
	w, viewer := a.w, p.viewer()
	rows, err := a.archive.List(a.ctx, archive.ListQuery{Viewer: viewer, IncludeGone: true})
	w.must(err, "list meetings")
	var listed []int64
	untyped := 0
	byRecorder, byMonth, byType := map[string]int{}, map[string]int{}, map[string]int{}
	for _, r := range rows {
		m := w.meetingOf(r)
		listed = append(listed, r.RecordingID)
		if r.MeetingType != "" {
			byType[r.MeetingType]++
		}
		// imported, or gone or hidden from all lists when they had lacked the type
		if r.RecordingID != m.id || r.MeetingType == "" && (!r.GoneAt.IsZero() || !w.isWatched(m)) {
			untyped++
		}
		if address := m.recorder.at(); w.org.isSteady(address) {
			byRecorder[address]++
		}
		byMonth[m.start().UTC().Format("2006-01")]++
	}
	slices.Sort(listed)
	found, facets := a.find(p, "")
	if !slices.Equal(found, listed) {
		w.fail("%s finds %v by an empty query, and is listed %v", p.name, found, listed)
	}
	counts, err := a.archive.CountsFor(a.ctx, viewer)
	w.must(err, "count meetings")
	if counts.Meetings != len(listed) {
		w.fail("%s is told of %d meetings, and is listed %d", p.name, counts.Meetings, len(listed))
	}
	people, err := a.roster.People(a.ctx, roster.View{Viewer: viewer})
	w.must(err, "list people")
	told := map[string]int{}
	for _, who := range people {
		if address := addressOf(who); w.org.isSteady(address) { // guests are known only from meetings
			told[address] = who.Meetings
		}
	}
	if !maps.Equal(told, byRecorder) {
		w.fail("%s is told of people in so many meetings: %v, at the service %v", p.name, told, byRecorder)
	}
	for _, f := range facets {
		told := map[string]int{}
		for _, v := range f.Values {
			told[v.Value] = v.Count
		}
		switch {
		case f.Field == "type" && (!maps.Equal(told, byType) || told["Weekly"]+told["Review"] != len(listed)-untyped):
			w.fail("%s is told of %v meetings by type, and is listed %v", p.name, told, byType)
		case f.Field == "month" && len(byMonth) <= 12 && !maps.Equal(told, byMonth):
			w.fail("%s is told of meetings by month %v, at the service %v", p.name, told, byMonth)
		}
	}
}

// addressOf returns the address of somebody in the list of people; without one, the name.
func addressOf(who roster.Person) string {
	for _, name := range who.Names {
		if strings.Contains(name, "@") {
			return name
		}
	}
	return who.Name
}

// ask compares the answers to a question. Of meetings that no account is shown any more
// the archive has the content of another time: they are not judged.
func (a *answers) ask(p *person, q question) {
	w := a.w
	found, _ := a.find(p, q.text)
	rows, err := a.archive.List(a.ctx, archive.ListQuery{Viewer: p.viewer(), IncludeGone: true})
	w.must(err, "list meetings")
	var got, want []int64
	for _, id := range found {
		if m := w.org.meeting(id); w.isWatched(m) {
			got = append(got, id)
		}
	}
	for _, m := range w.org.meetings {
		isListed := slices.ContainsFunc(rows, func(r *archive.Row) bool { return r.RecordingID == m.id })
		if w.isRead(p) {
			isListed = w.isShown(p, m)
		}
		if isListed && w.isWatched(m) && !w.oracle.forgot[m.id] && q.matches(m) {
			want = append(want, m.id)
		}
	}
	slices.Sort(want)
	isBehind := func(id int64) bool {
		return slices.Contains(got, id) != slices.Contains(want, id) && w.isBehind(a.ctx, a.archive, w.org.meeting(id))
	}
	got, want = slices.DeleteFunc(slices.Clone(got), isBehind), slices.DeleteFunc(slices.Clone(want), isBehind)
	if !slices.Equal(got, want) {
		w.fail("%s finds %v by %s, at the service %v", p.name, got, q.text, want)
	}
}
