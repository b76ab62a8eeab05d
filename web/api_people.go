package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"minutebook/api"
	"minutebook/archive"
)

// personJSON is somebody who appears in meetings.
type personJSON struct {
	Name     string `json:"name"`
	Email    string `json:"email,omitempty"`
	Meetings int    `json:"meetings"`
}

// apiPeople lists who appears in the visible meetings, by address or name: ?limit,
// cursor.
func (s *server) apiPeople(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := parseNumber(q, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	people, err := s.Archive.People(r.Context(), viewerOf(r.Context()), q.Get("cursor"), limit+1)
	if err != nil {
		return err
	}
	out := struct {
		People []personJSON `json:"people"`
		Next   string       `json:"next,omitempty"`
	}{People: []personJSON{}}
	if len(people) > limit {
		people = people[:limit]
		out.Next = people[limit-1].Key()
	}
	for _, p := range people {
		out.People = append(out.People, personJSON(p))
	}
	return answerJSON(w, r, out)
}

// apiFilters answers with the values to which the list of meetings can be narrowed.
func (s *server) apiFilters(w http.ResponseWriter, r *http.Request) error {
	c, err := s.Archive.Choices(r.Context(), viewerOf(r.Context()))
	if err != nil {
		return err
	}
	return answerJSON(w, r, struct {
		Types  []string `json:"types"`
		Teams  []string `json:"teams"`
		People []string `json:"people"`
	}{notNil(c.Types), notNil(c.Teams), notNil(c.People)})
}

func notNil(names []string) []string { return append([]string{}, names...) }

// actionJSON is an action item in the JSON list.
type actionJSON struct {
	RecordingID   int64    `json:"recording_id"`
	Title         string   `json:"title"`
	Start         api.Time `json:"recording_start_time"`
	Description   string   `json:"description"`
	Completed     bool     `json:"completed"`
	UserGenerated bool     `json:"user_generated"`
	OffsetSeconds *float64 `json:"offset_seconds"`
	Assignee      struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		Team  string `json:"team"`
	} `json:"assignee"`
}

// apiActions lists action items, those of the newest meetings first: ?person, state,
// limit, cursor.
func (s *server) apiActions(w http.ResponseWriter, r *http.Request) error {
	query, err := actionQuery(r)
	if err != nil {
		return err
	}
	limit, err := parseNumber(r.URL.Query(), "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	query.Limit = limit + 1
	if query.Cursor, err = parseActionCursor(r.URL.Query().Get("cursor")); err != nil {
		return err
	}
	items, err := s.Archive.ActionItems(r.Context(), query)
	if err != nil {
		return err
	}
	out := struct {
		Items []actionJSON `json:"action_items"`
		Next  string       `json:"next,omitempty"`
	}{Items: []actionJSON{}}
	if len(items) > limit {
		items = items[:limit]
		last := items[limit-1]
		out.Next = fmt.Sprintf("%d-%d-%d", last.Start.UnixMilli(), last.RecordingID, last.Position)
	}
	for _, i := range items {
		out.Items = append(out.Items, newActionJSON(i))
	}
	return answerJSON(w, r, out)
}

func newActionJSON(i archive.ActionRow) actionJSON {
	a := actionJSON{RecordingID: i.RecordingID, Title: i.Title, Start: api.TimeOf(i.Start),
		Description: i.Description, Completed: i.Completed, UserGenerated: i.UserGenerated}
	a.Assignee.Name, a.Assignee.Email, a.Assignee.Team = i.Assignee, i.Email, i.Team
	if i.Offset >= 0 {
		seconds := i.Offset.Seconds()
		a.OffsetSeconds = &seconds
	}
	return a
}

// parseActionCursor reads the next of the answer before; "" is the beginning.
func parseActionCursor(text string) (*archive.ActionKey, error) {
	if text == "" {
		return nil, nil
	}
	var ms int64
	k := &archive.ActionKey{}
	if n, err := fmt.Sscanf(strings.ReplaceAll(text, "-", " "), "%d %d %d", &ms, &k.RecordingID, &k.Position); n != 3 || err != nil {
		return nil, &failure{http.StatusBadRequest, "cursor is the next of the answer before"}
	}
	k.Start = time.UnixMilli(ms).UTC()
	return k, nil
}

// assigneeJSON counts the action items of a person.
type assigneeJSON struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Open  int    `json:"open"`
	Done  int    `json:"done"`
}

// apiAssignees counts the visible action items by person.
func (s *server) apiAssignees(w http.ResponseWriter, r *http.Request) error {
	counts, err := s.Archive.Assignees(r.Context(), viewerOf(r.Context()))
	if err != nil {
		return err
	}
	out := []assigneeJSON{}
	for _, c := range counts {
		out = append(out, assigneeJSON(c))
	}
	return answerJSON(w, r, map[string]any{"assignees": out})
}

// meJSON is the visitor.
type meJSON struct {
	Emails []string `json:"emails"`
	All    bool     `json:"all"` // the archive's owner, who sees every meeting
	Admin  bool     `json:"admin"`
}

// apiMe answers with the visitor.
func (s *server) apiMe(w http.ResponseWriter, r *http.Request) error {
	v := visitorOf(r.Context())
	return answerJSON(w, r, meJSON{notNil(v.Viewer.Emails), v.Viewer.All, v.Admin})
}
