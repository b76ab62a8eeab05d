package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/notes"
	"minutebook/search"
	"minutebook/search/query"
	"minutebook/search/text"
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
	request.Limit, request.After, request.Moments = 20, r.URL.Query().Get("after"), 3
	request.Facets, request.Trend = true, true
	answer, err := s.Index.Search(r.Context(), request)
	if wrong, ok := errors.AsType[*search.QueryError](err); ok {
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
	if p.Chart, err = s.newBarChart(r, q, answer.Trend); err != nil {
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

// marker finds in a text the words and phrases that a search's moments show as hits,
// by the same rules as the search.
type marker struct{ phrases [][]string } // each as terms, see text.PhraseTerms

// newMarker collects the hits of an answer's moments.
func newMarker(moments []search.Moment) marker {
	seen := map[string]bool{}
	var m marker
	for _, moment := range moments {
		for _, span := range moment.Snippet {
			if !span.Hit {
				continue
			}
			terms := text.PhraseTerms(span.Text)
			if key := strings.Join(terms, " "); key != "" && !seen[key] {
				seen[key] = true
				m.phrases = append(m.phrases, terms)
			}
		}
	}
	return m
}

// withoutFrequent returns the marker without the words that so many lines have that marking
// them would only hide the others.
func (m marker) withoutFrequent(entries []archive.Entry) marker {
	lines := make([]int, len(m.phrases))
	for _, e := range entries {
		words := text.NewSequence(text.Tokenize(e.Text))
		for i, p := range m.phrases {
			if first, _ := words.FindPhrase(p, 0); first >= 0 {
				lines[i]++
			}
		}
	}
	var rare marker
	for i, p := range m.phrases {
		if lines[i] <= 3 || lines[i]*6 <= len(entries) {
			rare.phrases = append(rare.phrases, p)
		}
	}
	if len(rare.phrases) == 0 {
		return m
	}
	return rare
}

// spans cuts a passage at its hits; it returns nil when there are none.
func (m marker) spans(passage string) []search.Span {
	var spans []search.Span
	at := 0
	for _, h := range m.hits(passage) {
		if h.start < at {
			continue
		}
		if h.start > at {
			spans = append(spans, search.Span{Text: passage[at:h.start]})
		}
		spans = append(spans, search.Span{Text: passage[h.start:h.end], Hit: true})
		at = h.end
	}
	if at > 0 && at < len(passage) {
		spans = append(spans, search.Span{Text: passage[at:]})
	}
	return spans
}

// place is where a phrase stands in a passage, in bytes.
type place struct{ start, end int }

// hits lists the places of the phrases, of those that begin together the longest
// first.
func (m marker) hits(passage string) []place {
	if len(m.phrases) == 0 {
		return nil
	}
	words := text.NewSequence(text.Tokenize(passage))
	var hits []place
	for _, p := range m.phrases {
		for first, after := words.FindPhrase(p, 0); first >= 0; first, after = words.FindPhrase(p, first+1) {
			hits = append(hits, place{words.Words[first].Start, words.Words[after-1].End})
		}
	}
	slices.SortFunc(hits, func(a, b place) int { return cmp.Or(a.start-b.start, b.end-a.end) })
	return hits
}
