package search

import (
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

// quotedNote is a quotation of a note with the score it is chosen by.
type quotedNote struct {
	Moment
	score float64
}

// quoteNotes quotes the lines of summary, action items, highlights and CRM matches
// that have something of the query, best first.
func (q *quoter) quoteNotes(row *archive.Row) ([]quotedNote, error) {
	if len(q.hl.terms) == 0 || len(q.in.speakers) > 0 && len(q.in.fields) == 0 || !(row.HasSummary || row.HasActionItems || row.HasHighlights || row.HasCRM) {
		return nil, nil
	}
	m, err := q.s.x.archive.Notes(q.s.ctx, row.RecordingID)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the notes of %d: %w", row.RecordingID, err)
	}
	lang := q.s.x.langs.Get(text.BaseCode(row.Language))
	var out []quotedNote
	crm, err := q.s.crmLinesOf(row.RecordingID)
	if err != nil {
		return nil, err
	}
	for _, n := range listNotes(m, crm) {
		if !slices.Contains(q.in.textFields(), n.field) {
			continue
		}
		if hits := q.hl.find(n.Text, lang); len(hits) > 0 {
			n.Snippet = q.hl.snippet(n.Text, hits)
			out = append(out, quotedNote{n.Moment, q.hl.score(hits)})
		} else if hits := q.hl.find(n.about, lang); len(hits) > 0 {
			out = append(out, quotedNote{n.Moment, q.hl.score(hits) / 2})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].score > out[j].score })
	return out, nil
}

// note is an item of a part other than the transcript.
type note struct {
	Moment
	field string
	about string // searched too, and not quoted
}

// listNotes lists the items of all parts but the transcript.
func listNotes(m *api.Meeting, crm []string) []note {
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
		add(segment.FieldHighlights, api.PartHighlights, api.ToOffset(h.StartTime), "", text, h.Type)
	}
	for _, line := range crm {
		add(segment.FieldCRM, api.PartCRM, -1, "", line, "")
	}
	return out
}
