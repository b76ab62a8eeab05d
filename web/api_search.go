package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/search"
	"minutebook/search/query"
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
	More   bool             `json:"more,omitempty"`
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
	limit, err := parseNumber(r.URL.Query(), "limit", 20, 1, 500)
	if err != nil {
		return err
	}
	if _, err := s.openMeeting(r, id); err != nil {
		return err
	}
	answer, err := s.searchWithin(r.Context(), id, r.URL.Query().Get("q"), limit+1)
	if err != nil {
		return err
	}
	out := momentsJSON{Moments: []search.FoundMoment{}}
	for _, m := range answer.Result().Meetings {
		out.Moments = append(out.Moments, m.Moments...)
	}
	if out.More = len(out.Moments) > limit; out.More {
		last := limit
		if transcript := string(api.PartTranscript); limit > 2 && out.Moments[last-1].Part == transcript && out.Moments[last].Part != transcript {
			last-- // the last place is for a line of another part
		}
		out.Moments = slices.Delete(out.Moments, last, last+1)
	}
	return answerJSON(w, r, out)
}

// momentsJSON are moments of a meeting, the best first.
type momentsJSON struct {
	Moments []search.FoundMoment `json:"moments"`
	More    bool                 `json:"more,omitempty"`
}

// searchWithin searches one meeting.
func (s *server) searchWithin(ctx context.Context, id int64, text string, moments int) (*search.Answer, error) {
	request := s.searchRequest(ctx, text)
	request.Within, request.Limit, request.Moments = id, 1, moments
	return s.Index.Search(ctx, request)
}

// suggestionJSON is one way to go on with a text.
type suggestionJSON struct {
	Kind        string `json:"kind"`
	Text        string `json:"text"`
	Query       string `json:"query"`
	Meetings    int    `json:"meetings,omitempty"`
	RecordingID int64  `json:"recording_id,omitempty"`
	Start       string `json:"recording_start_date,omitempty"`
}

// partJSON is a part of the query as it is read so far.
type partJSON struct {
	Field   string `json:"field,omitempty"`
	Value   string `json:"value"`
	Without string `json:"without"`
}

// suggestJSON is the answer to a text that is being typed.
type suggestJSON struct {
	Suggestions []suggestionJSON `json:"suggestions"`
	Parts       []partJSON       `json:"parts"`
}

// apiSuggest answers /api/v1/suggest?q=: how a text may go on, and its parts as the
// search reads them. A text that is no query yet has no parts.
func (s *server) apiSuggest(w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get("q")
	asked := s.searchRequest(r.Context(), strings.ToValidUTF8(text, " "))
	found, err := s.Index.Suggest(r.Context(), search.SuggestRequest{Text: asked.Query, Viewer: asked.Viewer, SamePerson: asked.SamePerson})
	if err != nil {
		return err
	}
	out := suggestJSON{Suggestions: []suggestionJSON{}, Parts: []partJSON{}}
	for _, f := range found {
		v := suggestionJSON{Kind: f.Kind, Text: f.Text, Query: f.Query, Meetings: f.Count, RecordingID: f.RecordingID}
		if start := knownIn(f.Start, s.Location); !start.IsZero() {
			v.Start = start.Format("2 Jan 2006")
		}
		out.Suggestions = append(out.Suggestions, v)
	}
	if q, err := query.Parse(text); err == nil {
		for _, c := range listChips(q) {
			out.Parts = append(out.Parts, partJSON{c.Label, c.Value, c.Without})
		}
	}
	return answerJSON(w, r, out)
}
