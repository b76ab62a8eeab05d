package web

import (
	"net/http"
	"strings"

	"minutebook/search"
	"minutebook/search/query"
)

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
	found, err := s.Index.Suggest(r.Context(), search.SuggestRequest{Text: strings.ToValidUTF8(text, " "), Viewer: viewerOf(r.Context())})
	if err != nil {
		return err
	}
	out := suggestJSON{Suggestions: []suggestionJSON{}, Parts: []partJSON{}}
	for _, f := range found {
		v := suggestionJSON{Kind: f.Kind, Text: f.Text, Query: f.Query, Meetings: f.Count, RecordingID: f.RecordingID}
		if f.Kind == search.SuggestTitle {
			v.Start = f.Start.In(s.Location).Format("2 Jan 2006")
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
