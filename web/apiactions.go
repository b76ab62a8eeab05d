package web

import (
	"net/http"

	"minutebook/api"
)

// actionJSON is an action item in the JSON list.
type actionJSON struct {
	RecordingID   int64    `json:"recording_id"`
	Title         string   `json:"title"`
	Start         api.Time `json:"recording_start_time"`
	Description   string   `json:"description"`
	Completed     bool     `json:"completed"`
	OffsetSeconds *float64 `json:"offset_seconds"`
	Assignee      struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		Team  string `json:"team"`
	} `json:"assignee"`
}

// apiActions lists action items: ?person, state, limit.
func (s *server) apiActions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	query, err := actionQuery(r)
	if err != nil {
		return err
	}
	if query.Limit, err = parseNumber(q, "limit", mostActions, 1, 10000); err != nil {
		return err
	}
	items, err := s.Archive.ActionItems(r.Context(), query)
	if err != nil {
		return err
	}
	out := make([]actionJSON, len(items))
	for n, i := range items {
		out[n] = actionJSON{RecordingID: i.RecordingID, Title: i.Title, Start: api.TimeOf(i.Start),
			Description: i.Description, Completed: i.Completed}
		out[n].Assignee.Name, out[n].Assignee.Email, out[n].Assignee.Team = i.Assignee, i.Email, i.Team
		if i.Offset >= 0 {
			seconds := i.Offset.Seconds()
			out[n].OffsetSeconds = &seconds
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"action_items": out})
	return nil
}
