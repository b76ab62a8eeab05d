package search

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// show reads the meetings of a page from the archive and quotes their best
// moments. What the archive no longer has is left out.
func (v *view) show(page []ranked, f *found, r Request) ([]Hit, error) {
	ids := make([]int64, len(page))
	for i, p := range page {
		ids[i] = p.id
	}
	rows, err := v.x.archive.Rows(v.ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the meetings found: %w", err)
	}
	weights := make([]float64, len(f.leaves))
	for i, l := range f.leaves {
		if l.meetings != nil {
			weights[i] = rarity(l.meetings.size(), v.count)
		}
		if l.stop {
			weights[i] *= 0.05
		}
	}
	q := &quoter{v: v, m: newMatcher(f.leaves, weights), in: f.in, most: r.Moments}
	hits := make([]Hit, 0, len(page))
	for _, p := range page {
		row := rows[p.id]
		if row == nil {
			continue
		}
		hit := Hit{Row: row}
		if hit.Moments, err = q.moments(v.ctx, row, p); err != nil {
			return nil, err
		}
		if len(hit.Moments) == 0 && len(f.leaves) > 0 {
			hit.Why = "Found by a field of the query, or by words that have changed since."
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

// quoter quotes meetings.
type quoter struct {
	v    *view
	m    *matcher
	in   scope
	most int
}

// quoted is a moment with the score it is chosen by.
type quoted struct {
	Moment
	score float64
}

// moments are the best moments of a meeting: of the transcript in the order of
// the index, and among them the best of what was noted.
func (q *quoter) moments(ctx context.Context, row *archive.Row, p ranked) ([]Moment, error) {
	if len(q.m.leaves) == 0 && len(q.in.speakers) == 0 {
		return nil, nil
	}
	var out []Moment
	if contains(q.in.in(), segment.FieldText) {
		said, err := q.said(ctx, row, p)
		if err != nil {
			return nil, err
		}
		out = said
	}
	noted, err := q.noted(ctx, row)
	if err != nil {
		return nil, err
	}
	for len(noted) > 0 && (len(out) < q.most || len(out) == q.most && q.most > 2 && out[len(out)-1].Part == api.PartTranscript) {
		if len(out) == q.most {
			out = out[:q.most-1]
		}
		out = append(out, noted[0].Moment)
		noted = noted[1:]
	}
	if len(out) == 0 {
		return q.titled(row), nil
	}
	return out, nil
}

// titled quotes the meeting's title, when nothing else answers.
func (q *quoter) titled(row *archive.Row) []Moment {
	if !contains(q.in.in(), segment.FieldTitle) {
		return nil
	}
	lang := q.v.x.langs.Get(text.BaseCode(row.Language))
	for _, title := range []string{row.Title, row.MeetingTitle} {
		if hits := q.m.find(title, lang); len(hits) > 0 {
			return []Moment{{Offset: -1, Entry: -1, Text: title, Part: api.PartMeeting, Snippet: q.m.snippet(title, hits)}}
		}
	}
	return nil
}

// said quotes the best moments of the transcript.
func (q *quoter) said(ctx context.Context, row *archive.Row, p ranked) ([]Moment, error) {
	lang := q.v.x.langs.Get(text.BaseCode(row.Language))
	var out []Moment
	for _, m := range p.moments {
		if len(out) == q.most || m.score <= 0 && len(q.m.leaves) > 0 {
			break
		}
		entries, err := q.v.x.archive.Entries(ctx, p.id, m.From, m.To+1)
		if isMissing(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if best, ok := q.bestEntry(entries, m.stretch, lang); ok {
			out = append(out, best)
		}
	}
	if len(out) == 0 && q.asksUnindexed() {
		return q.everywhere(ctx, row, lang)
	}
	return out, nil
}

// asksUnindexed says whether the query is for words that the text of moments
// leaves out, or for a phrase, which may begin in another moment than its
// rarest words stand in.
func (q *quoter) asksUnindexed() bool {
	for _, l := range q.m.leaves {
		if len(l.terms) > 0 || !l.stop && q.v.isStop(l.key.term) {
			return true
		}
	}
	return false
}

// everywhere quotes the first moments of a transcript that hold something of
// the query, reading it all.
func (q *quoter) everywhere(ctx context.Context, row *archive.Row, lang *text.Language) ([]Moment, error) {
	entries, err := q.v.x.archive.Entries(ctx, row.RecordingID, 0, -1)
	if err != nil {
		return nil, err
	}
	var out []Moment
	for _, st := range cut(entries) {
		best, ok := q.bestEntry(entries[st.From:min(st.To+1, len(entries))], st, lang)
		if ok {
			out = append(out, best)
		}
		if len(out) == q.most {
			break
		}
	}
	return out, nil
}

// bestEntry quotes the entry of a moment that answers best, by the speakers that
// the query names or, where they only speak in the same moment, by another. ok is
// false when none holds anything of the query, which happens when the transcript
// has changed since it was indexed.
func (q *quoter) bestEntry(entries []archive.Entry, st stretch, lang *text.Language) (best Moment, ok bool) {
	best, ok = q.bestBy(q.speaks, entries, st, lang)
	if !ok && len(q.m.leaves) > 0 && slices.ContainsFunc(entries, q.speaks) {
		return q.bestBy(func(archive.Entry) bool { return true }, entries, st, lang)
	}
	return best, ok
}

// bestBy quotes the best of those entries that by says are by the right person.
func (q *quoter) bestBy(by func(archive.Entry) bool, entries []archive.Entry, st stretch, lang *text.Language) (best Moment, ok bool) {
	most := 0.0
	for i, e := range entries {
		if e.Index >= st.To || !by(e) {
			continue
		}
		hits := q.m.find(e.Text, lang)
		score := q.m.score(hits)
		if len(hits) == 0 && i+1 < len(entries) {
			hits = q.across(e, entries[i+1])
			score = q.m.score(hits) * 0.9
		}
		if len(q.m.leaves) == 0 && !ok || len(hits) > 0 && score > most {
			most, ok = score, true
			best = Moment{Offset: e.Offset, Entry: e.Index, Speaker: e.Speaker, Text: e.Text, Part: api.PartTranscript, Snippet: q.m.snippet(e.Text, hits)}
		}
	}
	return best, ok
}

// across finds phrases that begin in one entry and end in the next; what of
// them stands in the first.
func (q *quoter) across(e, next archive.Entry) []hit {
	var hits []hit
	for _, h := range q.m.phrases(text.Tokenize(e.Text + " " + next.Text)) {
		if h.start < len(e.Text) {
			h.end = min(h.end, len(e.Text))
			hits = append(hits, h)
		}
	}
	return hits
}

// speaks says whether an entry is by the speakers that the query names, where
// it names any.
func (q *quoter) speaks(e archive.Entry) bool {
	if len(q.in.speakers) == 0 {
		return true
	}
	keys := map[string]bool{}
	addPerson(keys, "", person{e.Speaker, e.Email})
	for _, s := range q.in.speakers {
		if begin, ok := strings.CutSuffix(s, "*"); ok {
			for k := range keys {
				if strings.HasPrefix(k, text.Fold(begin)) {
					return true
				}
			}
		}
		if keys[text.Fold(s)] || keys[strings.ToLower(s)] {
			return true
		}
	}
	return false
}

// noted quotes what summary, action items, highlights and CRM matches hold of
// the query, best first.
func (q *quoter) noted(ctx context.Context, row *archive.Row) ([]quoted, error) {
	if len(q.m.leaves) == 0 || len(q.in.speakers) > 0 || !(row.HasSummary || row.HasActionItems || row.HasHighlights || row.HasCRM) {
		return nil, nil
	}
	m, err := q.v.x.archive.Notes(ctx, row.RecordingID)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the notes of %d: %w", row.RecordingID, err)
	}
	lang := q.v.x.langs.Get(text.BaseCode(row.Language))
	var out []quoted
	crm, err := q.v.crm(row.RecordingID)
	if err != nil {
		return nil, err
	}
	for _, n := range notesOf(m, crm) {
		if !contains(q.in.in(), n.field) {
			continue
		}
		if hits := q.m.find(n.Text, lang); len(hits) > 0 {
			n.Snippet = q.m.snippet(n.Text, hits)
			out = append(out, quoted{n.Moment, q.m.score(hits)})
		} else if hits := q.m.find(n.about, lang); len(hits) > 0 {
			out = append(out, quoted{n.Moment, q.m.score(hits) / 2})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return out, nil
}

// note is an item of a part other than the transcript.
type note struct {
	Moment
	field string
	about string // what else is searched of it, and not quoted
}

func notesOf(m *api.Meeting, crm []string) []note {
	var out []note
	add := func(field string, part api.Part, at time.Duration, who, text, about string) {
		out = append(out, note{Moment{Offset: at, Entry: -1, Speaker: who, Text: text, Part: part}, field, about})
	}
	sum, _ := m.DefaultSummary.Get()
	for _, line := range plainLines(sum.MarkdownFormatted.Or("")) {
		add(segment.FieldSummary, api.PartSummary, -1, "", line, "")
	}
	for _, a := range m.ActionItems.Or(nil) {
		at, err := api.ParseOffset(a.RecordingTimestamp)
		if err != nil {
			at = -1
		}
		who, _ := a.Assignee.Get()
		add(segment.FieldActions, api.PartActionItems, at, who.Name.Or(""), a.Description, who.Name.Or(""))
	}
	for _, h := range m.Highlights.Or(nil) {
		text := strings.TrimSpace(h.Summary.Or("") + " " + h.Text.Or(""))
		add(segment.FieldHighlights, api.PartHighlights, seconds(h.StartTime), "", text, h.Type)
	}
	for _, line := range crm {
		add(segment.FieldCRM, api.PartCRM, -1, "", line, "")
	}
	return out
}
