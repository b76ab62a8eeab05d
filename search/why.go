package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"minutebook/search/query"
	"minutebook/search/segment"
)

// reason is one cause for which meetings are in an answer.
type reason struct {
	text string // for people
	set  meetingSet
}

// explainer says for each hit why it is in the answer.
type explainer struct {
	s       *snapshot
	m       *matches
	filters []reason
}

// newExplainer works out the meetings of each filter that the query asks for.
func (s *snapshot) newExplainer(m *matches, at clock) (*explainer, error) {
	x := &explainer{s: s, m: m}
	e := evaluation{s, m.byNode, at}
	for _, part := range m.parts {
		alternatives := []query.Node{part}
		if or, ok := part.(*query.Or); ok {
			alternatives = or.Kids
		}
		for _, n := range alternatives {
			f, ok := n.(*query.Filter)
			if !ok || f.Field == "in" {
				continue
			}
			set, err := e.filter(f)
			if err != nil {
				return nil, err
			}
			x.filters = append(x.filters, reason{describeFilter(f), set})
		}
	}
	return x, nil
}

// explain returns why a hit is in the answer, where its moments do not show it, and the
// words that it lacks.
func (x *explainer) explain(h Hit) (string, error) {
	i, doc, ok := x.s.place(h.Row.RecordingID)
	if !ok {
		return "", nil
	}
	var why, lacks []string
	for _, t := range x.m.terms {
		switch {
		case t.stop:
		case !t.meetings[i].Contains(doc):
			if x.m.relaxed != "" {
				lacks = append(lacks, quoteTerm(t))
			}
		case len(h.Moments) == 0:
			places, err := x.placesOf(t, i, doc)
			if err != nil {
				return "", err
			}
			why = append(why, quoteTerm(t)+" "+places)
		}
	}
	for _, f := range x.filters {
		if len(h.Moments) == 0 && f.set[i].Contains(doc) {
			why = append(why, f.text)
		}
	}
	out := strings.Join(why, ", ")
	if len(lacks) > 0 {
		out = strings.TrimPrefix(out+"; without "+strings.Join(lacks, ", "), "; ")
	}
	if out == "" {
		return "", nil
	}
	first, size := utf8.DecodeRuneInString(out)
	return string(unicode.ToUpper(first)) + out[size:] + ".", nil
}

// quoteTerm returns a term as it is quoted to people.
func quoteTerm(t *termMatch) string {
	switch n := t.node.(type) {
	case *query.Phrase:
		return "“" + n.Text + "”"
	case *query.Word:
		return "“" + n.Text + "”"
	}
	return "“" + t.word.term + strings.Join(t.phrase, " ") + "”"
}

// placesOf says where a meeting has a term.
func (x *explainer) placesOf(t *termMatch, i int, doc uint32) (string, error) {
	var in []string
	for _, p := range []struct{ field, name string }{
		{segment.FieldPeople, "in a name"}, {segment.FieldTitle, "in the title"}, {segment.FieldText, "in the transcript"},
		{segment.FieldSummary, "in the summary"}, {segment.FieldActions, "in an action item"}, {segment.FieldHighlights, "in a highlight"}} {
		if !slices.Contains(t.scope.textFields(), p.field) {
			continue
		}
		has, err := x.has(t, p.field, i, doc)
		if err != nil {
			return "", err
		}
		if has {
			in = append(in, p.name)
		}
	}
	if len(in) == 0 {
		return "in its words", nil
	}
	return strings.Join(in[:min(2, len(in))], " and "), nil
}

// has tells whether a meeting has a form of a word in a field, or a phrase among its names:
// elsewhere phrases are quoted.
func (x *explainer) has(t *termMatch, field string, i int, doc uint32) (bool, error) {
	if len(t.phrase) > 0 && field == segment.FieldPeople {
		with, err := x.s.withName(keyPerson, t.name)
		return err == nil && with[i].Contains(doc), err
	}
	for _, term := range variantsIn(t.variants, field) {
		postings, err := x.s.segments[i].terms.Postings(field, term)
		if err != nil {
			return false, err
		}
		if postings.Docs != nil && postings.Docs.Contains(doc) {
			return true, nil
		}
	}
	return false, nil
}

// describeFilter says for people that a filter holds for a meeting.
func describeFilter(f *query.Filter) string {
	v := f.Value
	switch f.Field {
	case "speaker":
		return v + " speaks"
	case "person":
		return v + " takes part"
	case "recorded-by":
		return "recorded by " + v
	case "assignee":
		return v + " has an action item"
	case "email", "domain":
		return "with somebody of " + v
	case "team":
		return "of the team " + v
	case "type":
		return "of the type " + v
	case "language":
		return "spoken in " + v
	case "account":
		return "read through " + v
	case "id":
		return "recording " + v
	case "title":
		return "“" + v + "” in the title"
	case "has":
		return "has " + v
	case "is":
		return "is " + v
	case "action":
		return "has an action item that is " + v
	case "note":
		return "a note says “" + v + "”"
	case "longer", "shorter":
		return f.Field + " than " + v
	case "last":
		return "in the last " + v
	case "before", "on":
		return f.Field + " " + v
	}
	return v + " or later" // after
}
