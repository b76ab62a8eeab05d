package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"minutebook/api"
	"minutebook/archive/notes"
	"minutebook/search"
	"minutebook/search/query"
)

// resultsPage is the answer to a query, or the error in it.
type resultsPage struct {
	frame
	Error    *search.QueryError
	Before   string // the query up to the error
	At       string // the rest
	Answer   *search.Answer
	Hits     []hit
	Chips    []chip
	Saved    bool // this search is saved already
	Controls controls
	Facets   []facetView
	Chart    *barChart
	More     string
	First    string
}

// hit is a meeting of the answer with its moments.
type hit struct {
	listed
	Address string
	Moments []moment
	Why     string // why it is here where no moment shows it, and the words it lacks
}

// moment is a place in a meeting.
type moment struct {
	search.Moment
	Address string
	Where   string // the part, unless it is the transcript
	Timed   bool   // it has a time
}

// results answers a query with meetings, best first.
func (s *server) results(w http.ResponseWriter, r *http.Request, text string) error {
	p := resultsPage{frame: s.newFrame(r, "results", text)}
	p.Query = text
	request := s.searchRequest(r.Context(), text)
	request.Limit, request.After, request.Moments, request.Facets = 20, r.URL.Query().Get("after"), 3, true
	answer, err := s.Index.Search(r.Context(), request)
	var wrong *search.QueryError
	if errors.As(err, &wrong) {
		p.Error = wrong
		at := max(0, min(wrong.Pos, len(text)))
		p.Before, p.At = text[:at], text[at:]
		return s.render(w, http.StatusBadRequest, "results", p)
	}
	if err != nil {
		return err
	}
	q, err := query.Parse(text)
	if err != nil {
		return err
	}
	p.Answer = answer
	for _, h := range answer.Meetings {
		p.Hits = append(p.Hits, s.newHit(h, text))
	}
	if p.Chips, p.Controls = listChips(q), newControls(q, text); len(p.Chips) == 1 && p.Chips[0].Label == "" {
		p.Chips = nil // it stands in the box
	}
	p.Facets, p.Examples = newFacetViews(answer.Facets, q, text), newExamples(answer.Facets)
	if p.Chart, err = s.newBarChart(r, q); err != nil {
		return err
	}
	saved, err := s.Notes.Saved(r.Context(), personOf(r.Context()))
	if err != nil {
		return err
	}
	p.Saved = slices.ContainsFunc(saved, func(saved notes.SavedSearch) bool { return saved.Query == text })
	if answer.Next != "" {
		p.More = "/?" + url.Values{"q": {text}, "after": {answer.Next}}.Encode()
	}
	if request.After != "" {
		p.First = searchAddress(text)
	}
	return s.render(w, http.StatusOK, "results", p)
}

func (s *server) newHit(h search.Hit, text string) hit {
	out := hit{listed: s.newListed(h.Row), Why: h.Why, Address: meetingAddress(h.Row.RecordingID, -1, -1, text)}
	for _, m := range h.Moments {
		v := moment{Moment: m, Where: search.PartName(m.Part), Timed: m.Offset >= 0}
		v.Address = meetingAddress(h.Row.RecordingID, m.Offset, m.Entry, text)
		if !v.Timed && m.Part != api.PartMeeting {
			v.Address += "#" + string(m.Part)
		}
		out.Moments = append(out.Moments, v)
	}
	return out
}

// examples are values of this archive for the description of the query language.
type examples struct{ Person, Type, Team, Domain, Month string }

func newExamples(facets []search.Facet) examples {
	value := map[string]string{}
	for _, f := range facets {
		if len(f.Values) > 0 {
			value[f.Field] = f.Values[0].Value
		}
	}
	return examples{value["person"], value["type"], value["team"], value["domain"], value["month"]}
}
