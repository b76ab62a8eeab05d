package web

import (
	"cmp"
	"net/http"
	"slices"
	"sort"
	"strings"

	"minutebook/api"
	"minutebook/archive"
	"minutebook/archive/roster"
)

// personJSON is somebody who appears in meetings, with the counts of the visible ones.
type personJSON struct {
	Key          string    `json:"key"`
	Name         string    `json:"name"`
	Email        string    `json:"email,omitempty"`
	Names        []string  `json:"names"`
	Meetings     int       `json:"meetings"`
	Spoke        int       `json:"spoke"`
	TotalSeconds float64   `json:"total_seconds"`
	TalkShare    float64   `json:"talk_share"`
	LastSeen     *api.Time `json:"last_seen"`
	OpenItems    int       `json:"open_action_items"`
	DoneItems    int       `json:"done_action_items"`
}

func newPersonJSON(p roster.Person) personJSON {
	out := personJSON{Key: p.Key, Name: p.Name, Names: p.Names, Meetings: p.Meetings, Spoke: p.Spoke, TotalSeconds: p.Time.Seconds(),
		TalkShare: p.Share(), OpenItems: p.Open, DoneItems: p.Done}
	if i := slices.IndexFunc(p.Names, func(name string) bool { return strings.Contains(name, "@") }); i >= 0 {
		out.Email = p.Names[i]
	}
	if !p.Last.IsZero() {
		last := api.TimeOf(p.Last)
		out.LastSeen = &last
	}
	return out
}

// apiPeople lists who appears in the visible meetings, by key: ?q, limit, cursor.
func (s *server) apiPeople(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, err := parseNumber(q, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	view, err := s.view(r.Context())
	if err != nil {
		return err
	}
	people, err := s.Roster.People(r.Context(), view)
	if err != nil {
		return err
	}
	people = filterPeople(people, q.Get("q"))
	slices.SortFunc(people, func(a, b roster.Person) int { return cmp.Compare(a.Key, b.Key) })
	people = people[sort.Search(len(people), func(i int) bool { return people[i].Key > q.Get("cursor") }):]
	out := struct {
		People []personJSON `json:"people"`
		Next   string       `json:"next,omitempty"`
	}{People: []personJSON{}}
	if len(people) > limit {
		people = people[:limit]
		out.Next = people[limit-1].Key
	}
	for _, p := range people {
		out.People = append(out.People, newPersonJSON(p))
	}
	return answerJSON(w, r, out)
}

// apiPerson answers with one person: the meetings, newest first, and the others there.
func (s *server) apiPerson(w http.ResponseWriter, r *http.Request) error {
	view, err := s.view(r.Context())
	if err != nil {
		return err
	}
	d, err := s.findPerson(r, view, r.PathValue("key"))
	if err != nil {
		return err
	}
	out := struct {
		personJSON
		RecordingIDs []int64      `json:"recording_ids"`
		With         []personJSON `json:"with"`
	}{newPersonJSON(d.Person), append([]int64{}, d.IDs...), []personJSON{}}
	for _, p := range d.With {
		out.With = append(out.With, newPersonJSON(p))
	}
	return answerJSON(w, r, out)
}

// apiFilters answers with the values to which the list of meetings can be narrowed.
func (s *server) apiFilters(w http.ResponseWriter, r *http.Request) error {
	c, err := s.choices(r.Context())
	if err != nil {
		return err
	}
	return answerJSON(w, r, c)
}

func notNil(names []string) []string { return append([]string{}, names...) }

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

// actionJSON is an action item in the JSON list.
type actionJSON struct {
	RecordingID   int64    `json:"recording_id"`
	Title         string   `json:"title"`
	Start         string   `json:"recording_start_time"`
	Description   string   `json:"description"`
	Completed     bool     `json:"completed"` // at the service
	DoneHere      bool     `json:"done_here"`
	UserGenerated bool     `json:"user_generated"`
	OffsetSeconds *float64 `json:"offset_seconds"`
	Assignee      struct {
		Name  string `json:"name"`
		Email string `json:"email"`
		Team  string `json:"team"`
	} `json:"assignee"`
}

// apiActions lists action items, those of the newest meetings first: ?person, state, q,
// age, limit, cursor.
func (s *server) apiActions(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	_, query, err := s.actionQuery(r)
	if err != nil {
		return err
	}
	query.Oldest = false
	if query.Limit, err = parseNumber(r.URL.Query(), "limit", 100, 1, 1000); err != nil {
		return err
	}
	if query.After, err = parseActionCursor(r.URL.Query().Get("cursor")); err != nil {
		return err
	}
	view, err := s.view(ctx)
	if err != nil {
		return err
	}
	list, err := s.Roster.Items(ctx, view, query)
	if err != nil {
		return err
	}
	rows, err := s.Archive.ActionItemsAt(ctx, list.Keys)
	if err != nil {
		return err
	}
	out := struct {
		Items []actionJSON `json:"action_items"`
		Next  string       `json:"next,omitempty"`
	}{Items: []actionJSON{}}
	for _, key := range list.Keys {
		row, ok := rows[key]
		if !ok {
			continue // it has just gone
		}
		item := newActionJSON(row)
		_, item.DoneHere = view.Ticks[itemOf(row)]
		out.Items = append(out.Items, item)
	}
	if list.More {
		out.Next = list.Last.String()
	}
	return answerJSON(w, r, out)
}

func newActionJSON(i archive.ActionRow) actionJSON {
	a := actionJSON{RecordingID: i.RecordingID, Title: i.Title, Start: api.TimeOf(i.Began).String(),
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
	k, err := archive.ParseActionKey(text)
	if err != nil {
		return nil, &failure{http.StatusBadRequest, "cursor is the next of the answer before"}
	}
	return &k, nil
}

// assigneeJSON counts the action items of a person.
type assigneeJSON struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Open  int    `json:"open"`
	Done  int    `json:"done"` // at the service or here
}

// apiAssignees counts the visible action items by person; the last one is nobody.
func (s *server) apiAssignees(w http.ResponseWriter, r *http.Request) error {
	view, err := s.view(r.Context())
	if err != nil {
		return err
	}
	list, err := s.Roster.Items(r.Context(), view, roster.ItemQuery{State: roster.All, Limit: 1})
	if err != nil {
		return err
	}
	out := []assigneeJSON{}
	for _, p := range list.People {
		out = append(out, assigneeJSON{p.Name, newPersonJSON(p).Email, p.Open, p.Done})
	}
	if n := list.Nobody; n.Open+n.Done > 0 {
		out = append(out, assigneeJSON{Open: n.Open, Done: n.Done})
	}
	return answerJSON(w, r, map[string]any{"assignees": out})
}
