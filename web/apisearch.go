package web

import (
	"net/http"

	"minutebook/search"
)

// apiSearch answers a query: ?q, limit, moments, after.
func (s *server) apiSearch(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := parseNumber(q, "limit", 10, 1, 100)
	if err != nil {
		return err
	}
	moments, err := parseNumber(q, "moments", 3, 1, 20)
	if err != nil {
		return err
	}
	answer, err := s.Index.Search(r.Context(), search.Request{Query: q.Get("q"), Viewer: viewerOf(r.Context()),
		Limit: limit, Moments: moments, After: q.Get("after"), Location: s.Location})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, answer.Result())
	return nil
}
