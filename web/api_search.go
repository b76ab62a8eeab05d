package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"minutebook/search"
)

// searchJSON is the answer to a search, with facets and histogram where they are asked
// for.
type searchJSON struct {
	*search.Result
	Facets    []facetJSON `json:"facets,omitempty"`
	Histogram []barJSON   `json:"histogram,omitempty"`
}

type facetJSON struct {
	Field  string           `json:"field"`
	Values []facetValueJSON `json:"values"`
}

type facetValueJSON struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

type barJSON struct {
	From  time.Time `json:"from"`
	Count int       `json:"count"`
}

// apiSearch answers a query: ?q, limit, moments, after, facets, histogram.
func (s *server) apiSearch(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	request := s.searchRequest(r.Context(), q.Get("q"))
	request.After = q.Get("after")
	var errs [4]error
	request.Limit, errs[0] = parseNumber(q, "limit", 10, 1, 100)
	request.Moments, errs[1] = parseNumber(q, "moments", 3, 1, 20)
	request.Facets, errs[2] = parseFlag(q, "facets")
	request.Histogram, errs[3] = parseFlag(q, "histogram")
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	answer, err := s.Index.Search(r.Context(), request)
	if err != nil {
		return err
	}
	out := searchJSON{Result: answer.Result()}
	for _, f := range answer.Facets {
		out.Facets = append(out.Facets, newFacetJSON(f))
	}
	for _, b := range answer.Histogram {
		out.Histogram = append(out.Histogram, barJSON(b))
	}
	return answerJSON(w, r, out)
}

// apiMoments answers with the moments of a meeting that match a query: ?q, limit.
func (s *server) apiMoments(w http.ResponseWriter, r *http.Request) error {
	id, err := recordingID(r)
	if err != nil {
		return err
	}
	limit, err := parseNumber(r.URL.Query(), "limit", 20, 1, 20)
	if err != nil {
		return err
	}
	if _, err := s.openMeeting(r, id); err != nil {
		return err
	}
	answer, err := s.searchWithin(r.Context(), id, r.URL.Query().Get("q"), limit)
	if err != nil {
		return err
	}
	moments := []search.FoundMoment{}
	for _, m := range answer.Result().Meetings {
		moments = append(moments, m.Moments...)
	}
	return answerJSON(w, r, map[string]any{"moments": moments})
}

// searchWithin searches one meeting.
func (s *server) searchWithin(ctx context.Context, id int64, query string, moments int) (*search.Answer, error) {
	term := " id:" + strconv.FormatInt(id, 10)
	request := s.searchRequest(ctx, "("+query+")"+term)
	request.Limit, request.Moments = 1, moments
	answer, err := s.Index.Search(ctx, request)
	var wrong *search.QueryError
	if errors.As(err, &wrong) { // such as sort: within parentheses
		request.Query = query + term
		answer, err = s.Index.Search(ctx, request)
	}
	return answer, err
}
