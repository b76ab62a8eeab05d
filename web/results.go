package web

import (
	"errors"
	"net/http"
	"net/url"

	"minutebook/api"
	"minutebook/search"
)

// resultsPage is the answer to a query, or the error in it.
type resultsPage struct {
	frame
	Error     *search.QueryError
	Before    string // the query up to the error
	At        string // the rest
	Answer    *search.Answer
	Hits      []hit
	Facets    []facetView
	Histogram *histogram
	More      string
	First     string
}

// hit is a meeting of the answer with its moments.
type hit struct {
	listed
	Address string
	Moments []moment
	Why     string // when there is no moment
}

// moment is a place in a meeting.
type moment struct {
	search.Moment
	Address string
	Where   string // the part, unless it is the transcript
	Timed   bool   // it has a time
}

// results answers a query with meetings, best first.
func (s *server) results(w http.ResponseWriter, r *http.Request, query string) error {
	p := resultsPage{frame: s.newFrame(r, "results", query)}
	p.Query = query
	after := r.URL.Query().Get("after")
	answer, err := s.Index.Search(r.Context(), search.Request{Query: query, Viewer: viewerOf(r.Context()),
		Limit: 20, After: after, Moments: 3, Facets: true, Histogram: true, Location: s.Location})
	var wrong *search.QueryError
	if errors.As(err, &wrong) {
		p.Error = wrong
		at := max(0, min(wrong.Pos, len(query)))
		p.Before, p.At = query[:at], query[at:]
		return s.render(w, http.StatusBadRequest, "results", p)
	}
	if err != nil {
		return err
	}
	p.Answer = answer
	for _, h := range answer.Meetings {
		p.Hits = append(p.Hits, s.newHit(h, query))
	}
	p.Facets = facetViews(answer.Facets, query)
	p.Histogram = s.newHistogram(answer.Histogram, query)
	if answer.Next != "" {
		p.More = "/?" + url.Values{"q": {query}, "after": {answer.Next}}.Encode()
	}
	if after != "" {
		p.First = searchAddress(query)
	}
	return s.render(w, http.StatusOK, "results", p)
}

func (s *server) newHit(h search.Hit, query string) hit {
	out := hit{listed: s.newListed(h.Row), Why: h.Why, Address: meetingAddress(h.Row.RecordingID, -1, -1, query)}
	for _, m := range h.Moments {
		v := moment{Moment: m, Where: search.PartName(m.Part), Timed: m.Offset >= 0}
		v.Address = meetingAddress(h.Row.RecordingID, m.Offset, m.Entry, query)
		if !v.Timed && m.Part != api.PartMeeting {
			v.Address += "#" + string(m.Part)
		}
		out.Moments = append(out.Moments, v)
	}
	return out
}
