package web

import (
	"cmp"
	"net/http"
	"slices"
	"sort"
	"strings"

	"minutebook/api"
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
