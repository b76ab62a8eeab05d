package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/search/query"
	"minutebook/search/segment"
	"minutebook/search/text"
)

// quote reads the meetings of a page from the archive and quotes their best
// moments. Meetings that the archive no longer has are left out.
func (s *snapshot) quote(page []rankedMeeting, m *matches, moments int, at clock) ([]Hit, error) {
	ids := make([]int64, len(page))
	for i, p := range page {
		ids[i] = p.id
	}
	rows, err := s.x.archive.Rows(s.ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read the meetings found: %w", err)
	}
	q := &quoter{s: s, hl: newHighlighter(m.terms, s.quoteWeights(m.terms)), in: m.scope, remarks: s.remarksAskedFor(m), most: moments}
	reasons, err := s.newExplainer(m, at)
	if err != nil {
		return nil, err
	}
	quoted := make([][]Moment, len(page))
	err = s.parallel(len(page), func(i int) (err error) {
		if row := rows[page[i].id]; row != nil {
			quoted[i], err = q.quoteMeeting(row, page[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, len(page))
	for i, p := range page {
		row := rows[p.id]
		if row == nil {
			continue
		}
		hit := Hit{Row: row, Moments: quoted[i]}
		if hit.Why, err = reasons.explain(hit); err != nil {
			return nil, err
		}
		hits = append(hits, hit)
	}
	if s.seesAll {
		return hits, nil
	}
	visible, err := s.stillShown(ids) // a right may have ended before its meeting was read
	if err != nil {
		return nil, fmt.Errorf("ask who sees the meetings found: %w", err)
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return !visible[h.Row.RecordingID] }), nil
}

// stopShare is the share of its rarity with which a stop word counts in a quotation.
const stopShare = 0.05

// quoteWeights returns how much each term counts in the choice of a quotation.
func (s *snapshot) quoteWeights(terms []*termMatch) []float64 {
	weights := make([]float64, len(terms))
	for i, t := range terms {
		weights[i] = rarity(t.meetings.size(), s.visibleCount)
		if t.stop {
			weights[i] *= stopShare
		}
	}
	return weights
}

// quoter quotes the meetings of a page.
type quoter struct {
	s  *snapshot
	hl *highlighter
	in scope

	remarks []map[int64][]Moment // the notes of readers that the query asks for, by meeting

	most int // moments of a meeting
}

// remarksAskedFor returns the notes of readers for each note: of the query that is not
// under a minus sign.
func (s *snapshot) remarksAskedFor(m *matches) (all []map[int64][]Moment) {
	for _, part := range m.parts {
		query.Walk(part, false, func(n query.Node, negated bool) {
			if f, ok := n.(*query.Filter); ok && f.Field == "note" && !negated {
				all = append(all, s.remarks[f.Value])
			}
		})
	}
	return all
}

// quoteMeeting returns the best moments of a meeting: the notes of readers that the query
// asks for, then moments of the transcript in the order of their rank, then lines of the
// other parts.
func (q *quoter) quoteMeeting(row *archive.Row, r rankedMeeting) ([]Moment, error) {
	remarks := q.quoteRemarks(row)
	if len(q.hl.terms) == 0 && len(q.in.speakers) == 0 {
		return remarks, nil
	}
	out, err := q.quoteTexts(row, r)
	if len(remarks) > 0 && len(out) > 0 { // room for both
		remarks = remarks[:max(1, min(len(remarks), q.most-len(out)))]
		out = out[:min(len(out), max(1, q.most-len(remarks)))]
	}
	return append(remarks, out...), err
}

// quoteRemarks returns the notes of readers for which the query asks by note:, in the
// order of the recording.
func (q *quoter) quoteRemarks(row *archive.Row) []Moment {
	var out []Moment
	for _, found := range q.remarks {
		out = append(out, found[row.RecordingID]...)
	}
	slices.SortFunc(out, func(a, b Moment) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Text, b.Text)) })
	out = slices.CompactFunc(out, func(a, b Moment) bool { return a.Offset == b.Offset && a.Text == b.Text })
	out = out[:min(len(out), q.most)]
	for i := range out {
		out[i].Snippet = q.hl.snippet(out[i].Text, q.hl.find(out[i].Text, q.s.x.langs.Get(text.BaseCode(row.Language))))
	}
	return out
}

// quoteTexts returns the best moments of the meeting's own texts, those of the transcript
// first. Where more than two are asked for, the last place is for a line of another part.
func (q *quoter) quoteTexts(row *archive.Row, r rankedMeeting) ([]Moment, error) {
	var out []Moment
	if slices.Contains(q.in.textFields(), segment.FieldText) {
		quoted, err := q.quoteTranscript(row, r)
		if err != nil {
			return nil, err
		}
		out = quoted
	}
	noted, err := q.quoteNotes(row)
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
		return q.quoteTitle(row), nil
	}
	return out, nil
}

// quoteTitle quotes the meeting's title, for when nothing else answers.
func (q *quoter) quoteTitle(row *archive.Row) []Moment {
	if !slices.Contains(q.in.textFields(), segment.FieldTitle) {
		return nil
	}
	lang := q.s.x.langs.Get(text.BaseCode(row.Language))
	for _, title := range []string{row.Title, row.MeetingTitle} {
		if hits := q.hl.find(title, lang); len(hits) > 0 {
			return []Moment{{Offset: -1, Entry: -1, Text: title, Part: api.PartMeeting, Snippet: q.hl.snippet(title, hits)}}
		}
	}
	return nil
}

// quoteTranscript quotes the best moments of the transcript.
func (q *quoter) quoteTranscript(row *archive.Row, r rankedMeeting) ([]Moment, error) {
	lang := q.s.x.langs.Get(text.BaseCode(row.Language))
	var out []Moment
	for _, m := range r.moments {
		if len(out) == q.most || m.score <= 0 && len(q.hl.terms) > 0 {
			break
		}
		entries, err := q.s.x.archive.Entries(q.s.ctx, r.id, m.From, m.To+q.hl.reach)
		if isMissing(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if best, ok := q.bestEntry(entries, m.entryRange, lang); ok {
			out = append(out, best)
		}
	}
	if len(out) == 0 && q.hasUnindexed() {
		return q.quoteFirst(row, lang)
	}
	return out, nil
}

// hasUnindexed reports whether the query has words that the text of moments leaves
// out, or a phrase, which may begin in another moment than its rarest words stand in.
func (q *quoter) hasUnindexed() bool {
	for _, t := range q.hl.terms {
		if len(t.phrase) > 0 || !t.stop && q.s.isStopWord(t.word.term) {
			return true
		}
	}
	return false
}

// firstRead is how many entries of a transcript are read first, to find a frequent word
// near the beginning. Each further read is of twice as many.
const firstRead = 48

// quoteFirst reads a transcript from its beginning and quotes the first moments that have
// something of the query.
func (q *quoter) quoteFirst(row *archive.Row, lang *text.Language) (out []Moment, err error) {
	var entries []archive.Entry // of moments that were not looked at yet
	for from, size, isLast := 0, firstRead, false; !isLast; size *= 2 {
		more, err := q.s.x.archive.Entries(q.s.ctx, row.RecordingID, from, from+size)
		if err != nil {
			return nil, err
		}
		from, isLast = from+size, len(more) < size
		entries = append(entries, more...)
		moments := cutMoments(entries)
		if !isLast {
			moments = moments[:len(moments)-1] // the last one may have more entries
		}
		at, found := 0, q.findInAll(entries, lang)
		for i, m := range moments {
			end := m.To // of the moment into which a phrase may run: it may be said in that one
			for k := i + 1; k < len(moments) && end < m.To+q.hl.reach; k++ {
				end = moments[k].To
			}
			if end < m.To+q.hl.reach && !isLast {
				break
			}
			if at = m.To; !slices.Contains(found[m.From:m.To], true) {
				continue
			}
			best, ok := q.bestEntry(entries[m.From:end], entryRange{entries[m.From].Index, entries[m.To-1].Index + 1}, lang)
			if !ok {
				continue
			}
			if out = append(out, best); len(out) == q.most {
				return out, nil
			}
		}
		entries = entries[at:]
	}
	return out, nil
}

// findInAll tells of each entry whether something of the query begins there, also a
// phrase that runs on into others. That is faster than bestEntry for each.
func (q *quoter) findInAll(entries []archive.Entry, lang *text.Language) []bool {
	var all strings.Builder
	ends := make([]int, len(entries))
	for i, e := range entries {
		all.WriteString(e.Text)
		ends[i] = all.Len()
		all.WriteByte(' ')
	}
	found := make([]bool, len(entries))
	i := 0
	for _, h := range q.hl.find(all.String(), lang) {
		for h.start >= ends[i] {
			i++
		}
		found[i] = true
	}
	return found
}

// bestEntry quotes the entry of a moment that answers best: one by the speakers that
// the query names or, where they only speak in the same moment, by another. ok is
// false when none has anything of the query, as happens when the transcript has
// changed since it was indexed.
func (q *quoter) bestEntry(entries []archive.Entry, st entryRange, lang *text.Language) (best Moment, ok bool) {
	best, ok = q.bestWhere(q.isBySpeaker, entries, st, lang)
	if !ok && len(q.hl.terms) > 0 && slices.ContainsFunc(entries, q.isBySpeaker) {
		return q.bestWhere(func(archive.Entry) bool { return true }, entries, st, lang)
	}
	return best, ok
}

// bestWhere quotes the best of the entries that accept accepts.
func (q *quoter) bestWhere(accept func(archive.Entry) bool, entries []archive.Entry, st entryRange, lang *text.Language) (best Moment, ok bool) {
	most := 0.0
	cut := make([][]text.Token, len(entries)) // of entries whose words were needed
	tokens := func(i int) []text.Token {
		if cut[i] == nil {
			cut[i] = text.Tokenize(entries[i].Text)
		}
		return cut[i]
	}
	for i, e := range entries {
		if e.Index >= st.To || !accept(e) {
			continue
		}
		hits := q.hl.findIn(tokens(i), lang)
		score := q.hl.score(hits)
		if len(hits) == 0 {
			hits = q.hl.findAcross(entries[i:], func(at int) []text.Token { return tokens(i + at) })
			score = q.hl.score(hits) * 0.9
		}
		if len(q.hl.terms) == 0 && !ok || len(hits) > 0 && score > most {
			most, ok = score, true
			best = Moment{Offset: e.Offset, Entry: e.Index, Speaker: e.Speaker, Text: e.Text, Part: api.PartTranscript, Snippet: q.hl.snippet(e.Text, hits)}
		}
	}
	return best, ok
}

// isBySpeaker reports whether an entry is by a speaker that the query names, where it
// names any.
func (q *quoter) isBySpeaker(e archive.Entry) bool {
	if len(q.in.speakers) == 0 {
		return true
	}
	keys := map[string]bool{}
	addPerson(keys, "", participant{e.Speaker, e.Email})
	for _, s := range q.in.speakers {
		if slices.ContainsFunc(s.names, func(name string) bool { return isNamed(keys, name) }) {
			return true
		}
	}
	return false
}
